# SPDX-License-Identifier: BSD-3-Clause
"""The page of a job's statistics and traces, and what is said of files that cannot be used, on made-up files."""

import html
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
sys.path.insert(0, str(BENCH))

import compare_runs  # noqa: E402  (found through the line above)
from job import document, files, markup, sums, timeline, words  # noqa: E402

MIB = 1 << 20
EPOCH_NS = 1_800_000_000_000_000_000


def row(route, n_bytes, buffer="device", operation="MPI_Send", calls=1, nanoseconds=0):
    return {"operation": operation, "buffer": buffer, "route": route, "calls": calls, "bytes": n_bytes,
            "nanoseconds": nanoseconds}


def statistics_of(rank, *rows, fallbacks=None, most_bytes=0):
    return {"format": 1, "rank": rank, "rows": list(rows), "packing": {"launches": 2, "bytes": MIB},
            "staging": {"bytes": 0, "most_bytes": most_bytes}, "fallbacks": fallbacks or {}}


def span(rank, begin_us, length_us, lane="D2H", n_bytes=8):
    return {"ph": "X", "name": f"{lane} 0", "cat": "sluice", "pid": rank, "tid": 1, "ts": begin_us, "dur": length_us,
            "args": {"operation": "MPI_Send", "peer": 1, "tag": 0, "block": 0, "blocks": 1, "bytes": n_bytes,
                     "submitted": begin_us}}


def trace_of(rank, *spans, dropped=0, epoch_ns=EPOCH_NS):
    names = {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}}
    about = {"format": 1, "rank": rank, "spans": len(spans), "dropped": dropped, "epoch_unix_ns": str(epoch_ns)}
    return {"displayTimeUnit": "ns", "traceEvents": [names, *spans], "otherData": about}


def plain(page):
    """The words of a page, on one line."""
    text = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    text = html.unescape(re.sub(r"</?(?:code|b|i|a)\b[^>]*>", "", text))
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace(markup.SPACE, " ").split())


def tags_of(page):
    found = set()
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, _: found.add(tag)
    parser.feed(page)
    return found


class FilesTest(unittest.TestCase):
    """A folder, and the words of the command line for files in it."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    def job(self, *documents):
        return files.read_job([self.write(f"{i}.json", one) for i, one in enumerate(documents)])

    def page(self, *documents):
        return document.render(self.job(*documents), None)


class PathTest(FilesTest):
    def test_says_the_share_of_each_route_first(self):
        text = plain(self.page(statistics_of(0, row("ipc", 6 * MIB), row("staged", MIB), row("host", 2 * MIB, "host")),
                               statistics_of(1, row("ipc", 2 * MIB, operation="MPI_Recv"), row("staged", MIB))))
        self.assertIn("Of the 10.0 MiB in device memory, 80 % went from device to device, inside the node (ipc) and "
                      "20 % went through host memory whole (staged).", text)
        self.assertIn("All 2.00 MiB in host memory went to the host MPI as they were (host).", text)
        self.assertLess(text.index("80 %"), text.index("MPI_Send"))

    def test_counts_a_message_of_a_queue_once(self):
        text = plain(self.page(statistics_of(0, row("thread", MIB), row("ipc", MIB, operation="MPI_Isend"))))
        self.assertIn("All 1.00 MiB in device memory went from device to device", text)
        self.assertIn("The shares leave thread out", text)

    def test_never_calls_a_part_nothing_or_all(self):
        said = [markup.percent(*pair).replace(markup.SPACE, " ") for pair in ((1, 1000), (999, 1000), (5, 5))]
        self.assertEqual(said, ["less than 1 %", "99 %", "100 %"])

    def test_says_that_nothing_was_counted(self):
        self.assertIn("No byte was counted. Sluice counts in ranks", plain(self.page(statistics_of(0))))

    def test_adds_operations_up_over_ranks(self):
        text = plain(self.page(statistics_of(0, row("ipc", MIB, calls=3, nanoseconds=1500)),
                               statistics_of(1, row("ipc", MIB, calls=4, nanoseconds=500), row("staged", 512))))
        self.assertIn("MPI_Send device memory 2.00 MiB 7 calls 2.00 \u00b5s 512 B 1 call 0 ms", text)

    def test_says_which_ranks_are_not_there(self):
        self.assertIn("There are no statistics of rank 1.", plain(self.page(statistics_of(0), statistics_of(2))))
        text = plain(self.page(statistics_of(0), trace_of(1)))
        self.assertIn("There is no trace of rank 0.", text)
        self.assertIn("There is no statistics of rank 1.", text)
        self.assertIn("Rank 0 alone: SLUICE_STATS_FILE=stats.%r.json", text)

    def test_what_a_file_says_is_never_markup(self):
        bad = "</style><script>alert(1)</script>\"'><img src=x>&amp;\ud800"
        page = self.page(statistics_of(0, row(bad, 8, bad, bad), fallbacks={bad: 1}), trace_of(0, span(0, 0, 5, bad)))
        self.assertEqual(tags_of(page) & {"script", "img"}, set())
        self.assertIn("took a route that this sluice report does not know", plain(page))


class FallbackTest(FilesTest):
    def test_says_what_was_refused_and_what_to_do(self):
        text = plain(self.page(statistics_of(0, fallbacks={"pool_exhausted": 3}),
                               statistics_of(1, fallbacks={"pool_exhausted": 1, "of_later": 9})))
        refused, instead, remedy = (part.replace("`", "") for part in words.FALLBACKS["pool_exhausted"])
        self.assertIn(f"pool_exhausted 4 times, ranks 0, 1 refused {refused} ran instead {instead} what to do {remedy}",
                      text)
        self.assertIn("of_later 9 times, rank 1 refused this sluice report does not know the reason", text)
        self.assertIn("No way was refused", plain(self.page(statistics_of(0))))

    @unittest.skipUnless((ROOT / "src/base").is_dir(), "the sources are not here")
    def test_has_words_for_each_reason_and_route_of_the_sources(self):
        reasons = set()
        for source in (ROOT / "src").rglob("*.cpp"):
            reasons |= set(re.findall(r'record_fallback\("(\w+)"\)', source.read_text(encoding="utf-8")))
        self.assertEqual(reasons, words.FALLBACKS.keys())
        text = (ROOT / "src/base/types.hpp").read_text(encoding="utf-8")
        names = re.findall(r'"(\w+)"', re.search(r"kRouteNames = \{(.*?)\}", text, re.DOTALL).group(1))
        self.assertEqual(set(names), words.ROUTES.keys() | {"undecided"})  # which no operation takes
        self.assertEqual(words.ROUTES.keys(), document.COLOURS.keys())


class MapTest(FilesTest):
    def test_marks_the_rank_that_is_unlike_the_others(self):
        job = self.job(*(statistics_of(rank, row("staged" if rank == 2 else "ipc", 10 * MIB), row("host", rank, "host"))
                         for rank in range(5)))
        rows, odd_rows, n_odd = sums.map_of(job)
        self.assertEqual({one.first: one.oddities for one in rows if one.oddities},
                         {2: {"ipc": "none, unlike most ranks", "staged": "most ranks have none"}})
        self.assertEqual((len(rows), odd_rows, n_odd), (5, [], 1))
        page = document.render(job, None)
        self.assertEqual(len(re.findall(r'<td class="cell (?:none )?odd"', page)), 2)
        self.assertIn("1 rank is unlike the others", plain(page))
        self.assertIn("2 ipc: none, unlike most ranks staged: most ranks have none 0 10.0 MiB 2 B 3 10.0 MiB",
                      plain(page))

    def test_marks_neither_of_two_nor_what_is_little(self):
        two = {rank: {"ipc": 10 * MIB * rank} for rank in range(2)}
        self.assertEqual(sums.oddities_of(two, ["ipc"]), {})
        little = {rank: {"ipc": 100 * MIB, "host": MIB * rank} for rank in range(4)}
        self.assertEqual(sums.oddities_of(little, ["ipc", "host"]), {})
        twice = {rank: {"ipc": MIB * (2 if rank == 1 else 1)} for rank in range(4)}
        self.assertEqual(sums.oddities_of(twice, ["ipc"]), {})
        more = {rank: {"ipc": MIB * (3 if rank == 1 else 1)} for rank in range(4)}
        self.assertEqual(sums.oddities_of(more, ["ipc"]), {1: {"ipc": "3x the usual"}})

    def test_folds_ten_thousand_ranks(self):
        job = files.Job()
        for rank in range(10000):
            files.read_statistics(job, pathlib.Path(f"s.{rank}"),
                                  statistics_of(rank, row("staged" if rank == 4321 else "ipc", MIB)))
        rows, odd_rows, n_odd = sums.map_of(job)
        self.assertEqual((len(rows), sum(one.n_ranks for one in rows), rows[0].last), (64, 10000, 156))
        self.assertEqual(([one.first for one in odd_rows], n_odd), ([4321], 1))
        self.assertEqual(rows[4321 // 157].cells["ipc"], (MIB * 156 / 157, 0, MIB))
        page = document.render(job, None)
        self.assertLess(len(page), 100_000)
        self.assertIn("4239\u20134395", page)
        self.assertIn("10 000 ranks; statistics of the job.", plain(page))


class TimelineTest(FilesTest):
    def bars(self, page):
        """x and width of the bars; those of a lane's ground have no words."""
        return [(float(x), float(wide)) for x, wide in
                re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="11" fill="[^"]*"><title>', page)]

    def test_draws_all_ranks_on_the_axis_of_the_first(self):
        # Rank 1 began 1000 us later: its span from 0 to 1000 is the second half.
        page = self.page(trace_of(0, span(0, 0, 500)),
                         trace_of(1, span(1, 0, 1000, "wire"), epoch_ns=EPOCH_NS + 1_000_000))
        left, half = timeline.LEFT, timeline.WIDTH / 2
        self.assertEqual(sorted(self.bars(page)), [(left, half / 2), (left + half, half)])
        self.assertIn("No statistics were given", plain(page))
        self.assertIn('href="https://ui.perfetto.dev"', page)
        self.assertIn("wire the host MPI has it 1 1.00 ms 8 B", plain(page))

    def test_takes_what_trace_merge_makes(self):
        merged = trace_of(0, span(0, 0, 500), span(1, 500, 500))
        del merged["otherData"]["rank"]
        self.assertEqual(len(self.bars(self.page(merged))), 2)
        with self.assertRaisesRegex(compare_runs.FileError, "both of rank 1; give the files of one job"):
            self.job(merged, trace_of(1))

    def test_keeps_the_longest_and_says_what_it_left_out(self):
        n = files.MOST_BARS // 2 + 5
        page = self.page(*(trace_of(rank, *(span(rank, 10 * i, 9 if i >= 5 else 1) for i in range(n)), dropped=rank * 7)
                           for rank in range(2)))
        self.assertEqual(len(self.bars(page)), files.MOST_BARS)
        self.assertEqual((page.count(" 9.0 us</title>"), page.count(" 1.0 us</title>")), (files.MOST_BARS, 0))
        self.assertIn("4 000 of 4 010 spans are drawn, the longest of each rank. Left out: 10, of at most 9.00 \u00b5s "
                      "each and less than 1 % of the time together.", plain(page))
        self.assertIn("7 later spans are not in the files, because a rank keeps 65536, on 1 rank, the first is 1.",
                      plain(page))

    def test_gives_room_that_a_rank_does_not_need_to_others(self):
        job = self.job(*(trace_of(rank, *(span(rank, 10 * i, 1 + rank) for i in range(n)))
                         for rank, n in enumerate((3, files.MOST_BARS, files.MOST_BARS))))
        self.assertEqual([len(spans) for _, spans in sorted(timeline.bars_of(job, [0, 1, 2]).items())], [3, 1998, 1999])
        self.assertIn("4 000 of 8 003 spans are drawn, the longest of each rank. Left out: 4 003, of at most "
                      "3.00 \u00b5s each", plain(document.render(job, None)))

    def test_draws_few_of_many_ranks(self):
        page = self.page(*(trace_of(rank, span(rank, rank, 1)) for rank in range(100)))
        self.assertEqual(len(self.bars(page)), files.MOST_LANES)
        self.assertIn("48 of 100 ranks are drawn", plain(page))
        job = self.job(*(trace_of(rank, span(rank, rank, 1)) for rank in range(100)))
        self.assertIn(99, timeline.ranks_to_draw(job, [99]))

    def test_says_when_there_is_nothing_or_two_jobs(self):
        self.assertIn("The traces hold no span", plain(self.page(trace_of(0))))
        self.assertIn("No trace was given", plain(self.page(statistics_of(0))))
        page = self.page(trace_of(0, span(0, 0, 1)), trace_of(1, span(1, 0, 1), epoch_ns=EPOCH_NS + 10**12))
        self.assertIn("more than a minute apart", plain(page))


class CommandTest(FilesTest):
    def call(self, *arguments):
        return subprocess.run([sys.executable, str(BENCH / "report_runs"), *arguments], capture_output=True, text=True,
                              check=False, cwd=self.folder)

    def test_writes_a_page_that_fetches_nothing_and_needs_only_python(self):
        self.write("s.json", statistics_of(0, row("ipc", MIB, operation="\ud800")))
        self.write("t.json", trace_of(0, span(0, 0, 1)))
        # Neither is there, nor may another Python be asked.
        without = "import os, runpy, sys; sys.modules.update(jinja2=None, matplotlib=None); os.execv = None; " \
                  "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
        done = subprocess.run([sys.executable, "-c", without, str(BENCH / "report_runs"), ".", "--title", "My <job>"],
                              capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "report.html\n", ""))
        page = (self.folder / "report.html").read_text(encoding="utf-8")
        self.assertIn("<h1>My &lt;job&gt;</h1>", page)
        for fetching in ("src=", "<script", "<link", "@import", "url(", "<img"):
            self.assertNotIn(fetching, page)

    def test_says_what_is_wrong_with_a_file(self):
        good = self.write("good.json", statistics_of(0, row("ipc", 8)))
        whole = json.dumps(statistics_of(1, row("ipc", 8)))
        run = {"schema": "sluice-bench", "schema_version": 2}
        for content, wrong, remedy in (
                ("", "is empty", "run the job again, or leave the file out"),
                (whole[:len(whole) // 2], "is cut short", "run the job again, or leave the file out"),
                (whole[:whole.index("}") + 1], "is cut short", "run the job again"),
                ("sluice statistics of rank 0", "is no JSON", "leave it out"),
                ("\udcff", "is no JSON", "leave it out"),
                ("[" * 100000, "is no JSON", "leave it out"),
                ({"name": "a package"}, "is neither of SLUICE_STATS_FILE nor of SLUICE_TRACE", "leave it out"),
                ([], "is neither of SLUICE_STATS_FILE", "leave it out"),
                ({**statistics_of(1), "format": 2}, "has format 2, and this sluice reads format 1",
                 "use the `sluice report` of the Sluice that wrote the file"),
                (statistics_of(0), "are both of rank 0", "give the files of one job, each once"),
                (statistics_of(-1), "sluice_statistics_json()", "give the file as SLUICE_STATS_FILE"),
                (statistics_of(1, row("ipc", -8)), "-8 is no count", "leave it out"),
                (statistics_of(1, {"operation": "MPI_Send"}), "it has no 'buffer'", "leave it out"),
                ({**statistics_of(1), "rows": 5}, "is not as Sluice writes statistics", "leave it out"),
                ({**trace_of(1), "otherData": {"format": 3}}, "has format 3", "use the `sluice report`"),
                ({**trace_of(1), "otherData": []}, "is not as Sluice writes a trace", "leave it out"),
                (trace_of(1, span(1, float("nan"), 1)), "nan is no time", "leave it out"),
                (trace_of(1, {"ph": "X", "pid": 1}), "it has no 'args'", "leave it out"),
                (run, "is a result of sluice-bench, and", "make a page of each, by two calls")):
            with self.subTest(wrong=wrong):
                bad = self.folder / "bad.json"
                text = content if isinstance(content, str) else json.dumps(content)
                bad.write_bytes(text.encode("utf-8", "surrogateescape"))
                with self.assertRaises(compare_runs.FileError) as caught:
                    files.read_job([good, str(bad)])
                said = str(caught.exception)
                for part in ("bad.json", wrong, remedy):
                    self.assertIn(part, said)
                self.assertNotIn("\n", said)

    def test_ends_with_one_line(self):
        good = self.write("good.json", statistics_of(0, row("ipc", 8)))
        empty = self.write("empty.json", "")
        for arguments, said in (((good, empty), "empty.json is empty"),
                                (("nowhere.json",), "nowhere.json cannot be read"),
                                ((good, "-o", "nowhere/page.html"), "nowhere/page.html"),
                                ((good, "--plots", "plots"), "--plots is for results of sluice-bench"),
                                ((good, "--limit-us", "3"), "--limit-us is for results of sluice-bench"),
                                ((good, good), "both of rank 0")):
            done = self.call(*arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (2, 1, ""), done.stderr)
            self.assertIn(said, done.stderr)
            self.assertTrue(done.stderr.startswith("sluice report: "), done.stderr)

    def test_leaves_results_of_the_benchmark_to_their_own_page(self):
        run = {"schema": "sluice-bench", "schema_version": 2, "status": "failed", "test": "latency"}
        self.assertIsNone(files.read_job([self.write("run.json", run), self.write("broken.json", "{")]))
        self.assertIsNone(files.read_job([f"label={self.folder / 'run.json'}"]))
        done = self.call(self.write("a.json", ""), self.write("b.json", ""))
        self.assertIn("a.json is empty", done.stderr)
        self.assertIn("(1 more file cannot be used)", done.stderr)


if __name__ == "__main__":
    unittest.main()
