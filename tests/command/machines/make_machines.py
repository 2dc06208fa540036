#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes descriptions of machines, in hwloc's XML, that the tests of placement are held against.

    make_machines.py FOLDER

eight_devices.xml   two sockets of 56 cores with two threads each, a NUMA node each; eight devices, four below each
                    socket, each behind a PCI switch of its own with a network card (the shape of a DGX or HGX node)
six_devices.xml     two sockets of 52 cores with two threads each; besides its DRAM each socket has memory on the
                    package, a NUMA node without cores of its own; six devices of two tiles each, three below each
                    socket, each at a PCI root of its own; eight network cards, four below each socket, at other roots (the shape of an
                    Aurora node)

They are written by this program from what is published about such machines, and recorded on none.
"""

import itertools
import pathlib
import sys
import xml.etree.ElementTree as ET

ACCELERATOR = "0302"
NETWORK = "0207"
SWITCH = "0604"


def bitmap(numbers):
    """As hwloc writes sets: words of 32 bits, the highest first."""
    value = sum(1 << number for number in set(numbers))
    words = []
    while True:
        words.append(f"0x{value & 0xffffffff:08x}")
        value >>= 32
        if not value:
            return ",".join(reversed(words))


class Writer:
    def __init__(self):
        self.ids = itertools.count(1)

    def add(self, parent, kind, cores=None, nodes=None, **attributes):
        element = ET.SubElement(parent, "object", type=kind, gp_index=str(next(self.ids)))
        if cores is not None:
            for name in ("cpuset", "complete_cpuset"):
                element.set(name, bitmap(cores))
            for name in ("nodeset", "complete_nodeset"):
                element.set(name, bitmap(nodes))
        for name, value in attributes.items():
            element.set(name, str(value))
        return element

    def root_bridge(self, parent, first, last):
        return self.add(parent, "Bridge", bridge_type="0-1", depth=0, bridge_pci=f"0000:[{first:02x}-{last:02x}]")

    def switch(self, parent, bus, first, last):
        return self.add(parent, "Bridge", bridge_type="1-1", depth=1, bridge_pci=f"0000:[{first:02x}-{last:02x}]",
                        pci_busid=f"0000:{bus:02x}:00.0", pci_type=f"{SWITCH} [1000:c030] [0000:0000] a0", pci_link_speed="31.5")

    def pci_device(self, parent, bus, kind):
        return self.add(parent, "PCIDev", pci_busid=f"0000:{bus:02x}:00.0", pci_type=f"{kind} [1234:5678] [0000:0000] 00",
                        pci_link_speed="31.5")

    def card(self, parent, bus, name, kind=3):
        self.add(self.pci_device(parent, bus, NETWORK), "OSDev", name=name, osdev_type=kind)


def socket_sets(socket, n_cores, n_sockets=2):
    """The hardware threads of each core, numbered as Linux does: second threads after all the first ones."""
    total = n_cores * n_sockets
    return [(socket * n_cores + i, total + socket * n_cores + i) for i in range(n_cores)]


def machine(n_cores, nodes_of, add_devices):
    writer = Writer()
    topology = ET.Element("topology", version="2.0")
    threads = range(4 * n_cores)
    nodes = [node for socket in (0, 1) for node in nodes_of(socket)]
    top = writer.add(topology, "Machine", threads, nodes, os_index=0, allowed_cpuset=bitmap(threads),
                     allowed_nodeset=bitmap(nodes))
    for socket in (0, 1):
        cores = socket_sets(socket, n_cores)
        own = [thread for core in cores for thread in core]
        package = writer.add(top, "Package", own, nodes_of(socket), os_index=socket)
        for node in nodes_of(socket):
            writer.add(package, "NUMANode", own, [node], os_index=node, local_memory=str(1 << 36))
        for index, pair in enumerate(cores):
            core = writer.add(package, "Core", pair, nodes_of(socket), os_index=index)
            for thread in pair:
                writer.add(core, "PU", [thread], nodes_of(socket), os_index=thread)
        add_devices(writer, package, socket)
    return topology


def eight_devices(writer, package, socket):
    for i in range(4):
        bus = 0x10 + 0x80 * socket + 0x10 * i
        root = writer.root_bridge(package, bus, bus + 15)
        switch = writer.switch(root, bus, bus + 1, bus + 15)
        writer.pci_device(switch, bus + 1, ACCELERATOR)
        writer.card(switch, bus + 2, f"fabric_{4 * socket + i}")


def six_devices(writer, package, socket):
    for i in range(3):
        bus = 0x18 + 0x80 * socket + 0x10 * i
        name = f"accelerator{3 * socket + i}"
        whole = writer.add(writer.pci_device(writer.root_bridge(package, bus, bus), bus, ACCELERATOR), "OSDev", name=name, osdev_type=5)
        for tile in range(2):
            writer.add(whole, "OSDev", name=f"{name}.{tile}", osdev_type=5)
    for i in range(4):
        bus = 0x50 + 0x80 * socket + i
        writer.card(writer.root_bridge(package, bus, bus), bus, f"hsn{4 * socket + i}", kind=2)


def write(path, topology):
    ET.indent(topology)
    text = ET.tostring(topology, encoding="unicode")
    path.write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n{text}\n')


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "eight_devices.xml", machine(56, lambda socket: [socket], eight_devices))
    write(folder / "six_devices.xml", machine(52, lambda socket: [socket, socket + 2], six_devices))
    return 0


if __name__ == "__main__":
    sys.exit(main())
