// References that must be to a VirtualMachine, as snapshots have as source and restores as target. Pure.
import { type FieldPath, field } from '../../../api/field-path.js';
import type { ObjectReference } from '../reference.js';
import { type Causes, invalid, notFound } from '../rule.js';

const GROUP = 'kubevirt.io';
const KIND = 'VirtualMachine';

/** The first thing that is wrong. */
export function* vmReference(reference: ObjectReference | undefined, at: FieldPath): Causes {
  const { apiGroup, kind } = reference ?? {};
  if (apiGroup === undefined) yield notFound(field(at, 'apiGroup'), `missing apiGroup: set it to ${GROUP}`);
  else if (apiGroup !== GROUP) yield invalid(field(at, 'apiGroup'), `invalid apiGroup ${apiGroup}: it must be ${GROUP}`);
  else if (kind !== KIND) yield invalid(field(at, 'kind'), `invalid kind ${kind ?? ''}: it must be ${KIND}`);
}
