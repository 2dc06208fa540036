// SPDX-License-Identifier: BSD-3-Clause
// UCX's ucp: tagged messages. It is loaded at run time and linked to nothing; the system's or a wheel's will do.
#include <fcntl.h>
#include <fmt/format.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/log.hpp"
#include "network/provider.hpp"
#include "network/ucp_library.hpp"

namespace sluice::network {
namespace {

// One message. Callbacks of the library write it, within its progress.
struct Message {
  void *request = nullptr;  // null: it ended at once
  std::uint64_t size_bytes = 0;
  std::uint64_t came_bytes = 0;  // of a receive
  ucs_status_t status = UCS_INPROGRESS;
  bool is_receive = false;
};

// Whether the CPU can read and write that byte: the system does both, by way of a pipe, and says so where it cannot.
bool is_reached_by_cpu(std::byte *byte) noexcept {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  const FileDescriptor out(ends[0]);
  const FileDescriptor in(ends[1]);
  return write(in.get(), byte, 1) == 1 && read(out.get(), byte, 1) == 1;
}

class Ucp final : public Provider {
 public:
  Ucp() noexcept = default;
  ~Ucp() override;

  // Once, before all else. Errors: as open_ucp().
  [[nodiscard]] Status open();

  [[nodiscard]] std::string_view name() const noexcept override { return "ucp"; }
  [[nodiscard]] const std::string &address() const noexcept override { return address_; }
  [[nodiscard]] bool takes(const Memory &memory) override;
  [[nodiscard]] Status send(const Memory &memory, int peer, std::string_view address, std::uint64_t tag,
                            std::unique_ptr<Transfer> *transfer) override;
  [[nodiscard]] Status receive(const Memory &memory, std::uint64_t tag, std::unique_ptr<Transfer> *transfer) override;

  // Of the transfers.
  [[nodiscard]] bool poll(Message *message, Status *outcome);
  void cancel(Message *message) noexcept;
  void release(std::unique_ptr<Message> message) noexcept;

 private:
  [[nodiscard]] Status check(ucs_status_t status, const char *what) const;
  [[nodiscard]] Status open_worker();
  [[nodiscard]] Status find_type(const Memory &memory, ucs_memory_type_t *type);
  [[nodiscard]] Status connect(int peer, std::string_view address, ucp_ep_h *endpoint);
  static void end_send(void *request, ucs_status_t status, void *message);
  static void end_receive(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *message);
  static void note_failure(void *failed, ucp_ep_h endpoint, ucs_status_t status);

  std::mutex mutex_;  // of all below: the worker is used by one thread at a time
  UcpLibrary library_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::string address_;
  struct Peer {
    ucp_ep_h endpoint = nullptr;
    bool has_failed = false;
  };
  std::unordered_map<int, Peer> peers_;  // its elements stay where they are
  std::vector<std::unique_ptr<Message>> orphans_;
};

class UcpTransfer final : public Transfer {
 public:
  explicit UcpTransfer(Ucp *owner) : owner_(owner), message_(std::make_unique<Message>()) {}
  ~UcpTransfer() override { owner_->release(std::move(message_)); }

  [[nodiscard]] bool poll(Status *outcome) override { return owner_->poll(message_.get(), outcome); }
  void cancel() noexcept override { owner_->cancel(message_.get()); }
  [[nodiscard]] Message *message() noexcept { return message_.get(); }

 private:
  Ucp *const owner_;
  std::unique_ptr<Message> message_;
};

Status Ucp::check(ucs_status_t status, const char *what) const {
  if (status == UCS_OK) return {};
  return Status::error(ErrorKind::kBackend,
                       fmt::format("UCX: {}: {}; set SLUICE_NETWORK=off", what, library_.status_string(status)));
}

Status Ucp::open() {
  if (Status status = UcpLibrary::load(&library_); !status.is_ok()) return status;
  ucp_config_t *config = nullptr;
  Status status = check(library_.config_read(nullptr, nullptr, &config), "ucp_config_read");
  if (!status.is_ok()) return status;
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_TAG;
  params.name = "sluice";
  status = check(library_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_), "ucp_init");
  library_.config_release(config);
  if (!status.is_ok()) context_ = nullptr;
  return status.is_ok() ? open_worker() : status;
}

// The library believes an address whatever is in it, so its checksum stands before it.
std::uint64_t checksum_of(std::string_view bytes) noexcept {
  std::uint64_t sum = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  return sum;
}

std::string seal(std::string_view address) {
  const std::uint64_t sum = checksum_of(address);
  std::string sealed(sizeof sum, '\0');
  std::memcpy(sealed.data(), &sum, sizeof sum);
  return sealed.append(address);
}

// The library's part of a sealed address; empty: it is none.
std::string_view unseal(std::string_view sealed) noexcept {
  std::uint64_t sum = 0;
  if (sealed.size() <= sizeof sum) return {};
  std::memcpy(&sum, sealed.data(), sizeof sum);
  const std::string_view address = sealed.substr(sizeof sum);
  return checksum_of(address) == sum ? address : std::string_view();
}

Status Ucp::open_worker() {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  Status status = check(library_.worker_create(context_, &params, &worker_), "ucp_worker_create");
  if (!status.is_ok()) {
    worker_ = nullptr;
    return status;
  }
  ucp_address_t *address = nullptr;
  std::size_t size_bytes = 0;
  status = check(library_.worker_get_address(worker_, &address, &size_bytes), "ucp_worker_get_address");
  if (!status.is_ok()) return status;
  address_ = seal({reinterpret_cast<const char *>(address), size_bytes});
  library_.worker_release_address(worker_, address);
  if (address_.size() <= kMostAddressBytes) return {};
  return Status::error(ErrorKind::kUnsupported,
                       fmt::format("UCX has an address of {} bytes, and {} are the most; name fewer cards in "
                                   "UCX_NET_DEVICES",
                                   size_bytes, kMostAddressBytes));
}

// Nobody expects anything of this process any more (Network::close()), so no other process is waited for, and the
// worker takes its connections along. A message that has never ended would be in its way, and crash it with memory of a
// device: then everything stays until the process ends.
Ucp::~Ucp() {
  std::erase_if(orphans_, [](const std::unique_ptr<Message> &message) { return message->status != UCS_INPROGRESS; });
  if (!orphans_.empty()) {
    static std::vector<std::unique_ptr<Message>> left;
    std::ranges::move(orphans_, std::back_inserter(left));
    log::debug("network", "UCX is left as it is, for a message has not ended");
    return;
  }
  if (worker_ != nullptr) library_.worker_destroy(worker_);
  if (context_ != nullptr) library_.cleanup(context_);
}

Status Ucp::find_type(const Memory &memory, ucs_memory_type_t *type) {
  const std::scoped_lock lock(mutex_);
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = memory.data;
  params.length = memory.size_bytes;
  ucp_mem_h mapped = nullptr;
  if (Status status = check(library_.mem_map(context_, &params, &mapped), "ucp_mem_map"); !status.is_ok())
    return status;
  ucp_mem_attr_t attributes{};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_MEM_TYPE;
  Status status = check(library_.mem_query(mapped, &attributes), "ucp_mem_query");
  *type = attributes.mem_type;
  Status unmapped = check(library_.mem_unmap(context_, mapped), "ucp_mem_unmap");
  return status.is_ok() ? unmapped : status;
}

// What it takes for memory of the host it lets the CPU copy.
bool Ucp::takes(const Memory &memory) {
  ucs_memory_type_t type = UCS_MEMORY_TYPE_HOST;
  if (const Status status = find_type(memory, &type); !status.is_ok()) {
    log::debug("network", status.message());
    return false;
  }
  return type != UCS_MEMORY_TYPE_HOST || is_reached_by_cpu(memory.data);
}

void Ucp::note_failure(void *failed, ucp_ep_h /*endpoint*/, ucs_status_t /*status*/) {
  static_cast<Peer *>(failed)->has_failed = true;  // its messages end with the error
}

Status Ucp::connect(int peer, std::string_view address, ucp_ep_h *endpoint) {
  Peer &known = peers_[peer];
  if (known.endpoint == nullptr) {
    const std::string_view unsealed = unseal(address);
    if (unsealed.empty()) return check(UCS_ERR_INVALID_ADDR, "the address of a process");
    ucp_ep_params_t params{};
    params.field_mask =
        UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t *>(unsealed.data());
    // With its handling of errors the library copies device memory in short segments over TCP, which takes 8 times as
    // long. An MPI job loses nothing without: when a process is gone, so is the job.
    params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
    params.err_handler = {&Ucp::note_failure, &known};
    Status status = check(library_.ep_create(worker_, &params, &known.endpoint), "ucp_ep_create");
    if (!status.is_ok()) {
      known.endpoint = nullptr;
      return status;
    }
  }
  *endpoint = known.endpoint;
  return known.has_failed ? check(UCS_ERR_ENDPOINT_TIMEOUT, "an earlier message to this process") : Status();
}

Status Ucp::send(const Memory &memory, int peer, std::string_view address, std::uint64_t tag,
                 std::unique_ptr<Transfer> *transfer) {
  const std::scoped_lock lock(mutex_);
  ucp_ep_h endpoint = nullptr;
  if (Status status = connect(peer, address, &endpoint); !status.is_ok()) return status;
  auto made = std::make_unique<UcpTransfer>(this);
  Message *const message = made->message();
  message->size_bytes = memory.size_bytes;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = &Ucp::end_send;
  param.user_data = message;
  void *const request = library_.tag_send(endpoint, memory.data, memory.size_bytes, tag, &param);
  if (UCS_PTR_IS_ERR(request)) return check(UCS_PTR_STATUS(request), "ucp_tag_send_nbx");
  message->request = request;
  if (request == nullptr) message->status = UCS_OK;
  *transfer = std::move(made);
  return {};
}

Status Ucp::receive(const Memory &memory, std::uint64_t tag, std::unique_ptr<Transfer> *transfer) {
  const std::scoped_lock lock(mutex_);
  auto made = std::make_unique<UcpTransfer>(this);
  Message *const message = made->message();
  message->size_bytes = memory.size_bytes;
  message->is_receive = true;
  ucp_tag_recv_info_t info{};
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_RECV_INFO;
  param.cb.recv = &Ucp::end_receive;
  param.user_data = message;
  param.recv_info.tag_info = &info;
  constexpr ucp_tag_t kWholeTag = ~ucp_tag_t{0};
  void *const request = library_.tag_recv(worker_, memory.data, memory.size_bytes, tag, kWholeTag, &param);
  if (UCS_PTR_IS_ERR(request)) return check(UCS_PTR_STATUS(request), "ucp_tag_recv_nbx");
  message->request = request;
  if (request == nullptr) {
    message->status = UCS_OK;
    message->came_bytes = info.length;
  }
  *transfer = std::move(made);
  return {};
}

void Ucp::end_send(void * /*request*/, ucs_status_t status, void *message) {
  static_cast<Message *>(message)->status = status;
}

void Ucp::end_receive(void * /*request*/, ucs_status_t status, const ucp_tag_recv_info_t *info, void *message) {
  auto *const ended = static_cast<Message *>(message);
  ended->came_bytes = info->length;
  ended->status = status;
}

bool Ucp::poll(Message *message, Status *outcome) {
  const std::scoped_lock lock(mutex_);
  library_.worker_progress(worker_);
  if (message->status == UCS_INPROGRESS) return false;
  *outcome = check(message->status, message->is_receive ? "a receive" : "a send");
  if (outcome->is_ok() && message->is_receive && message->came_bytes != message->size_bytes) {
    *outcome = Status::error(ErrorKind::kBackend, fmt::format("UCX: {} bytes came in place of {}; set "
                                                              "SLUICE_NETWORK=off",
                                                              message->came_bytes, message->size_bytes));
  }
  return true;
}

void Ucp::cancel(Message *message) noexcept {
  const std::scoped_lock lock(mutex_);
  if (message->status == UCS_INPROGRESS) library_.request_cancel(worker_, message->request);
}

// Of one that never ended, which the library may still write to, the words are kept until it is closed.
void Ucp::release(std::unique_ptr<Message> message) noexcept {
  const std::scoped_lock lock(mutex_);
  const bool has_ended = message->request == nullptr || message->status != UCS_INPROGRESS;
  if (message->request != nullptr) library_.request_free(message->request);
  if (!has_ended) orphans_.push_back(std::move(message));
}

}  // namespace

Status open_ucp(std::unique_ptr<Provider> *provider) {
  auto made = std::make_unique<Ucp>();
  Status status = made->open();
  if (status.is_ok()) *provider = std::move(made);
  return status;
}

}  // namespace sluice::network
