"""Hosts with VLAN interfaces, on kernels with and without the module 8021q.

Two programs in the kernel's BPF machine do what that module does: what leaves through the VLAN
interface gets a tag and goes out of the link, and a frame of that VLAN that comes in loses it and
arrives at the VLAN interface. As with the module, the tag is beside the frame, not in it, until a
device has to put it in: that is what a packet socket at the other end of a veth sees.
"""

import pathlib
import subprocess

from .run_directory import RunDirectory

_PROGRAMS = """
#include <linux/bpf.h>
static long (*vlan_push)(struct __sk_buff *, __be16, __u16) = (void *)BPF_FUNC_skb_vlan_push;
static long (*vlan_pop)(struct __sk_buff *) = (void *)BPF_FUNC_skb_vlan_pop;
static long (*redirect)(__u32, __u64) = (void *)BPF_FUNC_redirect;
#define NETWORK(x) __builtin_bswap16(x)
#define PASS -1
#define DROP 2
__attribute__((section("classifier/in"), used)) int take(struct __sk_buff *frame) {
  if (!frame->vlan_present || (frame->vlan_tci & 0xFFF) != VLAN) return PASS;
  if (frame->vlan_proto != NETWORK(TPID)) return PASS;
  return vlan_pop(frame) != 0 ? DROP : redirect(INNER, 0);
}
__attribute__((section("classifier/out"), used)) int send(struct __sk_buff *frame) {
  return vlan_push(frame, NETWORK(TPID), VLAN) != 0 ? DROP : redirect(LINK, 0);
}
char gpl[] __attribute__((section("license"), used)) = "GPL";
"""


def _index(namespace, link):
    return namespace.run(["ip", "-o", "link", "show", "dev", link]).split(":")[0]


def _compile(directory, **numbers):
    """For the machine that this one's kernel has; struct layouts are its headers'."""
    include = next(pathlib.Path("/usr/include").glob("*-linux-gnu/asm")).parent
    source, program = directory / "vlan.c", directory / "vlan.o"
    source.write_text(_PROGRAMS)
    defined = [f"-D{name}={value}" for name, value in numbers.items()]
    command = ["clang", "-O2", "-target", "bpf", f"-I{include}", *defined, "-c", source, "-o", program]
    subprocess.run(list(map(str, command)), check=True)
    return program


def add_vlan(namespace, link, vlan, address, mtu, tpid=0x8100):
    """An interface `vlan` + its number, with an address (a.b.c.d/n), in a VLAN of `link`'s."""
    name, inner = f"vlan{vlan}", f"inner{vlan}"
    namespace.run(["ip", "link", "add", "name", name, "mtu", str(mtu), "type", "veth"]
                  + ["peer", "name", inner, "mtu", str(mtu)])
    for end in (name, inner):
        # A frame is whole before it gets its tag: who reads the link has no card to finish it.
        namespace.run(["ethtool", "-K", end, "tx", "off", "gso", "off", "gro", "off"])
        namespace.run(["ip", "link", "set", "dev", end, "up"])
    namespace.run(["tc", "qdisc", "replace", "dev", link, "clsact"])
    namespace.run(["tc", "qdisc", "replace", "dev", inner, "clsact"])
    with RunDirectory() as run:
        program = _compile(run.path, VLAN=vlan, TPID=tpid, INNER=_index(namespace, inner),
                           LINK=_index(namespace, link))
        for device, which in ((link, "in"), (inner, "out")):
            namespace.run(["tc", "filter", "add", "dev", device, "ingress", "bpf", "da", "obj"]
                          + [str(program), "sec", f"classifier/{which}"])
    namespace.run(["ip", "addr", "add", address, "dev", name])
    return name
