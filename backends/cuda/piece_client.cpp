// SPDX-License-Identifier: BSD-3-Clause
// The end of the piece socket that wants the memory.
#include <memory>
#include <string>
#include <vector>

#include "piece_message.h"
#include "piece_socket.h"

namespace sluice::backends::cuda {

namespace {

sluice_result_t pass_on(const Outcome &outcome) {
  return outcome.is_success() ? SLUICE_SUCCESS : fail(outcome.result, outcome.text);
}

sluice_result_t ask(DescriptorClient *client, const PieceQuestion &question, PieceAnswer *answer,
                    std::vector<Descriptor> *descriptors) {
  const sluice_result_t result = pass_on(client->ask(&question, sizeof question, answer, sizeof *answer, descriptors));
  if (result != SLUICE_SUCCESS) return result;
  if (answer->magic != kPieceMagic || answer->n_pieces > kPiecesAtOnce) {
    return fail(SLUICE_ERROR_NATIVE, "the process that has the memory answers in the way of another version");
  }
  if (answer->result == SLUICE_SUCCESS && answer->n_pieces > 0) return SLUICE_SUCCESS;
  answer->text[sizeof answer->text - 1] = '\0';
  return fail(answer->result == SLUICE_ERROR_UNSUPPORTED ? SLUICE_ERROR_UNSUPPORTED : SLUICE_ERROR_NATIVE,
              std::string("the process that has the memory: ") + answer->text);
}

sluice_result_t map_answer(const PieceAnswer &answer, const std::vector<Descriptor> &descriptors,
                           PieceMapping *mapping) {
  size_t next = 0;
  for (uint32_t i = 0; i < answer.n_pieces; ++i) {
    const bool has_descriptor = answer.pieces[i].way == PieceWay::kDescriptor && next < descriptors.size();
    const sluice_result_t result = mapping->add(answer.pieces[i], has_descriptor ? descriptors[next++].get() : -1);
    if (result != SLUICE_SUCCESS) return result;
  }
  return SLUICE_SUCCESS;
}

}  // namespace

sluice_result_t fetch_pieces(const HandleLayout &layout, int32_t device, void **base) {
  const PieceRange &range = layout.way.pieces;
  if (range.n_pieces == 0 || range.n_pieces > kMostPieces || range.size_bytes != layout.size_bytes) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "these bytes are no handle of this backend: a value out of its range");
  }
  DescriptorClient client;
  sluice_result_t result =
      pass_on(client.connect(range.socket_name, {layout.pid, layout.pid_namespace, layout.start_time}));
  PieceMapping mapping;
  if (result == SLUICE_SUCCESS) result = mapping.reserve(range.size_bytes);
  PieceQuestion question = {kPieceMagic, range, 0, 0};
  while (result == SLUICE_SUCCESS && question.first < range.n_pieces) {
    auto answer = std::make_unique<PieceAnswer>();
    std::vector<Descriptor> descriptors;
    result = ask(&client, question, answer.get(), &descriptors);
    if (result == SLUICE_SUCCESS) result = map_answer(*answer, descriptors, &mapping);
    question.first += answer->n_pieces;
  }
  return result == SLUICE_SUCCESS ? mapping.finish(device, base) : result;
}

}  // namespace sluice::backends::cuda
