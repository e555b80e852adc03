// Keeps later synchronisations from taking back what hooks made of a domain: what would be done to a device to undo a hook's work is not done, as
// long as nothing else is wanted of that device. Pure.
import type { DeviceChange } from '../../core/converter/index.js';

const deviceOf = ({ what, name }: DeviceChange): string => `${what} ${name}`;

/** Device → all that is to be done to it. */
function byDevice(changes: readonly DeviceChange[]): Map<string, string> {
  const steps = new Map<string, string>();
  for (const change of changes) {
    const device = deviceOf(change);
    steps.set(device, `${steps.get(device) ?? ''}${change.kind} ${change.path ?? ''}\n`);
  }
  return steps;
}

/** `undoings`: what the planner says of the domain that the hooks made, compared with the one they were given. */
export function withoutUndoing(changes: readonly DeviceChange[], undoings: readonly DeviceChange[]): readonly DeviceChange[] {
  if (undoings.length === 0) return changes;
  const [wanted, undone] = [byDevice(changes), byDevice(undoings)];
  return changes.filter((change) => wanted.get(deviceOf(change)) !== undone.get(deviceOf(change)));
}
