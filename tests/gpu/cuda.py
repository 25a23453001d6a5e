# SPDX-License-Identifier: BSD-2-Clause
"""The part of the CUDA driver API that the tests use, through ctypes on libcuda.so.1.

Invariant: every call goes through the exported, versioned symbol that it names; a failing call
raises CudaError unless it is called with may_fail. Structure layouts: cuda.h of CUDA 13.0.
"""
import ctypes
from ctypes import byref, c_int, c_size_t, c_ubyte, c_uint, c_ulonglong, c_ushort, c_void_p

PINNED, DEVICE = 1, 1              # CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE
POSIX_FD = 1                       # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
READWRITE = 3                      # CU_MEM_ACCESS_FLAGS_PROT_READWRITE
FORMAT_FLOAT = 0x20
Ptr = c_ulonglong


class Location(ctypes.Structure):
    _fields_ = [("type", c_int), ("id", c_int)]


class AllocationProp(ctypes.Structure):
    _fields_ = [("type", c_int), ("handle_types", c_int), ("location", Location), ("win32", c_void_p),
                ("flags", c_ubyte * 8)]


class AccessDesc(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", c_int)]


class PoolProps(ctypes.Structure):
    _fields_ = [("type", c_int), ("handle_types", c_int), ("location", Location), ("win32", c_void_p),
                ("max_size", c_size_t), ("usage", c_ushort), ("reserved", c_ubyte * 54)]


class AllocNodeParams(ctypes.Structure):
    _fields_ = [("pool", PoolProps), ("access", c_void_p), ("access_count", c_size_t),
                ("bytesize", c_size_t), ("dptr", Ptr)]


class ArrayDesc(ctypes.Structure):
    _fields_ = [("width", c_size_t), ("height", c_size_t), ("format", c_int), ("channels", c_uint)]


class Array3DDesc(ctypes.Structure):
    _fields_ = [("width", c_size_t), ("height", c_size_t), ("depth", c_size_t), ("format", c_int),
                ("channels", c_uint), ("flags", c_uint)]


class IpcHandle(ctypes.Structure):
    _fields_ = [("bytes", c_ubyte * 64)]


assert ctypes.sizeof(AllocationProp) == 32 and ctypes.sizeof(PoolProps) == 88
assert ctypes.sizeof(AllocNodeParams) == 120 and AllocNodeParams.bytesize.offset == 104
assert ctypes.sizeof(Array3DDesc) == 40


class CudaError(Exception):
    def __init__(self, name, code):
        super().__init__(f"{name} returned {code}")
        self.code = code


class Cuda:
    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)

    def __call__(self, name, *args, may_fail=False):
        """Calls by name. Python integers go as 64 bits: right for pointers, sizes, handles and, by the
        calling convention, for ints too."""
        function = getattr(self.lib, name)
        function.restype = c_int
        code = function(*(c_ulonglong(a) if isinstance(a, int) else a for a in args))
        if code and not may_fail:
            raise CudaError(name, code)
        return code

    def out(self, name, *args, kind=Ptr, where=0):
        """Calls with an out parameter at position `where` and returns its value."""
        value = kind()
        args = list(args)
        args.insert(where, byref(value))
        self(name, *args)
        return value.value

    def has(self, name):
        return hasattr(self.lib, name)

    def device(self, ordinal):
        return self.out("cuDeviceGet", ordinal, kind=c_int)

    def device_count(self):
        return self.out("cuDeviceGetCount", kind=c_int)

    def uuid(self, device):
        raw = (c_ubyte * 16)()
        self("cuDeviceGetUuid_v2" if self.has("cuDeviceGetUuid_v2") else "cuDeviceGetUuid", byref(raw), device)
        text = bytes(raw).hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def use(self, device):
        """The primary context of the device, made current."""
        context = self.out("cuDevicePrimaryCtxRetain", device)
        self("cuCtxSetCurrent", context)
        return context

    def free_bytes(self):
        free, total = c_size_t(), c_size_t()
        self("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value

    def alloc(self, size):
        return self.out("cuMemAlloc_v2", size)

    def alloc_async(self, size):
        return self.out("cuMemAllocAsync", size, 0)

    def sync(self):
        self("cuCtxSynchronize")

    def create(self, size, device, handle_types=0):
        prop = AllocationProp(type=PINNED, handle_types=handle_types, location=Location(DEVICE, device))
        return self.out("cuMemCreate", size, byref(prop), 0)

    def map_at(self, address, handle, size, device):
        self("cuMemMap", address, size, 0, handle, 0)
        access = AccessDesc(Location(DEVICE, device), READWRITE)
        self("cuMemSetAccess", address, size, byref(access), 1)

    def map(self, handle, size, device):
        address = self.out("cuMemAddressReserve", size, 0, 0, 0)
        self.map_at(address, handle, size, device)
        return address

    def unmap(self, address, size):
        self("cuMemUnmap", address, size)
        self("cuMemAddressFree", address, size)
