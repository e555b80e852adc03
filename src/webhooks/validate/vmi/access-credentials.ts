// Access credentials: exactly one kind, one source and one way to bring it into the guest, and what that way needs. Pure.

import { type FieldPath, field } from '../../../api/field-path.js';
import type { AccessCredential, SSHPublicKeyAccessCredential, VirtualMachineInstanceSpec, Volume } from '../../../api/index.js';
import { type Causes, invalid, type Rule } from '../rule.js';

function* exactlyOne(key: object, of: string, at: FieldPath, entry: FieldPath): Causes {
  if (Object.values(key).filter((v) => v !== undefined).length !== 1)
    yield invalid(at, `${entry} must have exactly one ${of} set: keep one`);
}

function* sshCauses(key: SSHPublicKeyAccessCredential, volumes: readonly Volume[], entry: FieldPath): Causes {
  const method = key.propagationMethod ?? {};
  const path = field(entry, 'sshPublicKey', 'propagationMethod');
  if (method.noCloud && !volumes.some((v) => v.cloudInitNoCloud)) {
    yield invalid(path, `${entry} is propagated by noCloud, but there is no such volume: add one of type cloudInitNoCloud`);
  }
  if (method.configDrive && !volumes.some((v) => v.cloudInitConfigDrive)) {
    yield invalid(path, `${entry} is propagated by configDrive, but there is no such volume: add one of type cloudInitConfigDrive`);
  }
  if (method.qemuGuestAgent && !method.qemuGuestAgent.users?.length) {
    yield invalid(field(path, 'qemuGuestAgent', 'users'), `${entry} is for nobody: list the users of the guest that get the keys`);
  }
  const { noCloud, configDrive, qemuGuestAgent } = method;
  yield* exactlyOne({ secret: key.source?.secret }, 'source', field(entry, 'sshPublicKey', 'source'), entry);
  yield* exactlyOne({ noCloud, configDrive, qemuGuestAgent }, 'propagationMethod', path, entry);
}

function* credentialCauses(credential: AccessCredential, volumes: readonly Volume[], entry: FieldPath): Causes {
  const { sshPublicKey, userPassword } = credential;
  if (sshPublicKey) yield* sshCauses(sshPublicKey, volumes, entry);
  if (userPassword) {
    const path = field(entry, 'userPassword');
    yield* exactlyOne({ secret: userPassword.source?.secret }, 'source', field(path, 'source'), entry);
    const { qemuGuestAgent } = userPassword.propagationMethod ?? {};
    yield* exactlyOne({ qemuGuestAgent }, 'propagationMethod', field(path, 'propagationMethod'), entry);
  }
  yield* exactlyOne({ sshPublicKey, userPassword }, 'access credential type', entry, entry);
}

export const accessCredentials: Rule<VirtualMachineInstanceSpec> = function* (spec, at) {
  for (const [i, credential] of (spec.accessCredentials ?? []).entries()) {
    yield* credentialCauses(credential, spec.volumes ?? [], field(at, 'accessCredentials', i));
  }
};
