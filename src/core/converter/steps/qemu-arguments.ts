// QEMU arguments that libvirt has no element for: Ignition data for the guest's firmware, and SeaBIOS' log.
import { ANNOTATION } from '../../../api/labels.js';
import { FIRMWARE_LOG_PIPE, ignitionFile } from '../../storage/paths.js';
import { type Fragment, NOTHING, type Step } from '../step.js';

export const qemuArguments: Step<'vmi' | 'arch' | 'firmwareLog'> = {
  name: 'qemu-arguments',
  render({ vmi, arch, firmwareLog }): Fragment {
    const { name = '', namespace = '', annotations } = vmi.metadata;
    const ignition = annotations?.[ANNOTATION.ignition]?.includes('ignition')
      ? ['-fw_cfg', `name=opt/com.coreos/config,file=${ignitionFile(namespace, name)}`]
      : [];
    const log =
      arch.firmwareLog && firmwareLog
        ? ['-chardev', `file,id=firmwarelog,path=${FIRMWARE_LOG_PIPE}`, '-device', 'isa-debugcon,iobase=0x402,chardev=firmwarelog']
        : [];
    const args = [...ignition, ...log].map((value): { readonly value: string } => ({ value }));
    return args.length === 0 ? NOTHING : { 'qemu:commandline': { 'qemu:arg': args } };
  },
};
