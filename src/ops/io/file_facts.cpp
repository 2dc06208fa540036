// SPDX-License-Identifier: BSD-3-Clause
#include "ops/io/file_facts.hpp"

#include <cstring>

#include "ops/datatype/type_contents.hpp"
#include "ops/env/host_library.hpp"
#include "wire/host.hpp"

namespace sluice::ops::io {

int find_facts(MPI_File file, FileFacts *facts) {
  const wire::Host &host = wire::host();
  MPI_Offset displacement = 0;
  MPI_Datatype etype = MPI_DATATYPE_NULL;
  MPI_Datatype filetype = MPI_DATATYPE_NULL;
  char representation[MPI_MAX_DATAREP_STRING] = "";
  int code = host.MPI_File_get_view(file, &displacement, &etype, &filetype, representation);
  if (code != MPI_SUCCESS) return code;
  // Host MPIs answer with types of their own making, too.
  const wire::OwnedDatatype of_etype = own_unless_predefined(etype);
  const wire::OwnedDatatype of_filetype = own_unless_predefined(filetype);
  MPI_Count bytes = 0;
  code = host.MPI_Type_size_x(etype, &bytes);
  if (bytes > 0) facts->etype_bytes = static_cast<std::uint64_t>(bytes);
  MPI_Count viewed_bytes = 0;
  MPI_Count lowest = 0;
  MPI_Count extent_bytes = 0;
  if (code == MPI_SUCCESS) code = host.MPI_Type_size_x(filetype, &viewed_bytes);
  if (code == MPI_SUCCESS) code = host.MPI_Type_get_extent_x(filetype, &lowest, &extent_bytes);
  facts->has_gaps = viewed_bytes != extent_bytes;
  facts->is_native = std::strcmp(representation, "native") == 0 || std::strcmp(representation, "NATIVE") == 0;
  return code;
}

int find_reaches_end(const Call &call, const FileFacts &facts, std::uint64_t n_etypes, bool *reaches_end) {
  const Position position = call.form->position;
  // By the shared pointer, which others move.
  *reaches_end = !call.is_at_offset && (position == Position::kShared || position == Position::kOrdered);
  if (*reaches_end || n_etypes == 0) return MPI_SUCCESS;
  const wire::Host &host = wire::host();
  MPI_Offset first = call.offset;
  MPI_Offset last_byte = 0;
  MPI_Offset size = 0;
  int code = MPI_SUCCESS;
  if (!call.is_at_offset) code = host.MPI_File_get_position(call.file, &first);
  const auto last = static_cast<MPI_Offset>(n_etypes - 1);
  if (code == MPI_SUCCESS) code = host.MPI_File_get_byte_offset(call.file, first + last, &last_byte);
  if (code == MPI_SUCCESS) code = host.MPI_File_get_size(call.file, &size);
  *reaches_end = last_byte > size - static_cast<MPI_Offset>(facts.etype_bytes);
  return code;
}

int find_is_one_access(const Call &call, const FileState &state, bool *is_one) {
  int is_atomic = 0;
  int mode = 0;
  int code = wire::host().MPI_File_get_atomicity(call.file, &is_atomic);
  if (code == MPI_SUCCESS) code = wire::host().MPI_File_get_amode(call.file, &mode);
  const bool is_in_sequence = (mode & MPI_MODE_SEQUENTIAL) != 0;
  switch (call.form->position) {
    case Position::kShared:
      *is_one = is_atomic != 0 || !state.has_shared_turns();
      break;
    case Position::kOrdered:
      // What is not allowed in the file's mode is an error of the ordered function's own.
      *is_one = is_atomic != 0 || is_in_sequence || !state.may_place_ordered() || !trusts_files() ||
                (mode & (call.form->is_read ? MPI_MODE_WRONLY : MPI_MODE_RDONLY)) != 0;
      break;
    default:
      *is_one = is_atomic != 0 || is_in_sequence;
  }
  return code;
}

}  // namespace sluice::ops::io
