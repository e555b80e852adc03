// Admission of Plugins: where plugins are enabled, with CEL expressions that can be understood and paths of sockets that are plain. Pure.
import { posix } from 'node:path';
import { type FieldPath, field } from '../../../api/field-path.js';
import type { Plugin } from '../../../api/index.js';
import { type Environment, mayBe, type Type, typeOfExpression } from '../../../core/cel/check.js';
import type { ClusterConfig } from '../../../core/config/cluster-config.js';
import { parseDuration } from '../../../core/duration.js';
import { DOMAIN, domainEnvironment, nodeEnvironment } from '../../../core/plugins/environments.js';
import { refuse, type Verdict, verdictOf } from '../../verdict.js';
import { gateOff } from '../gate-off.js';
import { type Causes, invalid } from '../rule.js';

interface Wanted {
  readonly what: string;
  readonly type: Type;
  readonly environment: Environment;
}

const DOMAIN_CONDITION: Wanted = { what: 'condition', type: 'bool', environment: domainEnvironment };
const NODE_CONDITION: Wanted = { what: 'condition', type: 'bool', environment: nodeEnvironment };
const MUTATION: Wanted = { what: 'mutation', type: DOMAIN, environment: domainEnvironment };

function* expressionCauses(text: string | undefined, at: FieldPath, { what, type, environment }: Wanted): Causes {
  if (!text) return;
  const result = typeOfExpression(text, environment);
  if (!result.ok) yield invalid(at, `invalid CEL ${what} expression: ${result.error}`);
  else if (!mayBe(result.value, type))
    yield invalid(at, `invalid CEL ${what} expression: it must result in ${type}, not in ${result.value}`);
}

function* socketCauses(path: string | undefined, at: FieldPath): Causes {
  if (path === undefined || cleaned(path) === path) return;
  yield invalid(at, `socketPath ${path} must be a clean path without '..' and double slashes: write ${cleaned(path)}`);
}

function* timeoutCauses(timeout: string | undefined, at: FieldPath): Causes {
  if (timeout === undefined || (parseDuration(timeout) ?? -1) >= 0) return;
  yield invalid(at, `timeout ${timeout} is no duration; write it like 30s or 2m`);
}

const cleaned = (path: string): string => posix.normalize(path).replace(/(.)\/$/, '$1');

function* pluginCauses({ spec }: Plugin): Causes {
  yield* expressionCauses(spec.condition, 'spec.condition', DOMAIN_CONDITION);
  for (const [i, hook] of (spec.domainHooks ?? []).entries()) {
    const at = field('spec', 'domainHooks', i);
    yield* expressionCauses(hook.cel?.expression, field(at, 'cel', 'expression'), MUTATION);
    yield* expressionCauses(hook.condition, field(at, 'condition'), DOMAIN_CONDITION);
    yield* socketCauses(hook.sidecar?.socketPath, field(at, 'sidecar', 'socketPath'));
    yield* timeoutCauses(hook.timeout, field(at, 'timeout'));
  }
  for (const [i, hook] of (spec.nodeHooks ?? []).entries()) {
    yield* expressionCauses(hook.condition, field('spec', 'nodeHooks', i, 'condition'), NODE_CONDITION);
    yield* timeoutCauses(hook.timeout, field('spec', 'nodeHooks', i, 'timeout'));
  }
}

export function admitPluginCreate(plugin: Plugin, config: ClusterConfig): Verdict {
  if (!config.isEnabled('Plugins')) return refuse(gateOff('Plugins', 'a plugin'));
  return admitPluginUpdate(plugin);
}

export const admitPluginUpdate = (plugin: Plugin): Verdict => verdictOf(pluginCauses(plugin));
