// Keeps the fake honest: the suite that libvirt's own test driver passes.
import { FakeLibvirt } from './fake-libvirt.js';
import { libvirtContract } from './libvirt-contract.js';

libvirtContract('fake', () => new FakeLibvirt(), 'fake:///default');
