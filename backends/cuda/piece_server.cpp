// SPDX-License-Identifier: BSD-3-Clause
// The end of the piece socket that has the memory. It exports a piece when it is asked for it and keeps nothing, so
// that memory that the program frees is free.
#include <algorithm>
#include <string>
#include <vector>

#include "piece_message.h"
#include "piece_socket.h"

namespace sluice::backends::cuda {

namespace {

// The pieces that the question names, as they are now; refused when they are not the ones that were exported.
sluice_result_t find_named(const PieceRange &range, std::vector<Piece> *pieces) {
  const sluice_result_t result = find_pieces(range.begin, range.begin + range.size_bytes, range.device, pieces);
  if (result != SLUICE_SUCCESS) return result;
  const bool is_same = pieces->size() == range.n_pieces && pieces->front().begin == range.begin &&
                       identity_of(*pieces) == range.identity;
  return is_same ? SLUICE_SUCCESS
                 : fail(SLUICE_ERROR_NATIVE, "the exporter has freed the memory or mapped other to it");
}

sluice_result_t share_named(const PieceQuestion &question, PieceAnswer *answer, std::vector<Descriptor> *descriptors) {
  std::vector<Piece> pieces;
  sluice_result_t result = find_named(question.range, &pieces);
  if (result != SLUICE_SUCCESS) return result;
  if (question.first >= pieces.size()) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the range has no such piece");
  const size_t n = std::min<size_t>(pieces.size() - question.first, kPiecesAtOnce);
  for (size_t i = 0; i < n; ++i) {
    int descriptor = -1;
    result = share_piece(pieces[question.first + i], &answer->pieces[i], &descriptor);
    if (descriptor >= 0) descriptors->emplace_back(descriptor);
    if (result != SLUICE_SUCCESS) return result;
  }
  answer->n_pieces = static_cast<uint32_t>(n);
  // What was handed out is what was asked for, whatever the program has freed meanwhile.
  return find_named(question.range, &pieces);
}

sluice_result_t answer_in_context(const PieceQuestion &question, PieceAnswer *answer,
                                  std::vector<Descriptor> *descriptors) {
  CUcontext context = nullptr;
  bool is_retained = false;
  sluice_result_t result = find_context(question.range.device, &context, &is_retained);
  if (result != SLUICE_SUCCESS) return result;
  {
    const ContextScope scope(context);
    result = scope.result();
    if (result == SLUICE_SUCCESS) result = share_named(question, answer, descriptors);
  }
  release_context(question.range.device, is_retained);
  return result;
}

bool answer_question(const void *asked, void *answered, std::vector<Descriptor> *descriptors) {
  const auto &question = *static_cast<const PieceQuestion *>(asked);
  auto *answer = static_cast<PieceAnswer *>(answered);
  if (question.magic != kPieceMagic) return false;
  const sluice_result_t result = answer_in_context(question, answer, descriptors);
  answer->magic = kPieceMagic;
  answer->result = result;
  if (result != SLUICE_SUCCESS) {
    answer->n_pieces = 0;
    descriptors->clear();
    answer->text[std::string(error_text()).copy(answer->text, sizeof answer->text - 1)] = '\0';
  }
  return true;
}

DescriptorServer &server() {
  // Never destroyed: a process that exits leaves the thread asleep.
  static auto *only = new DescriptorServer({sizeof(PieceQuestion), sizeof(PieceAnswer), answer_question});
  return *only;
}

}  // namespace

sluice_result_t serve_pieces(uint64_t socket_name[2]) {
  const Outcome outcome = server().start(socket_name);
  return outcome.is_success() ? SLUICE_SUCCESS : fail(outcome.result, outcome.text);
}

void stop_serving_pieces() {
  server().stop();
}

}  // namespace sluice::backends::cuda
