// Changes of domains that Plugins write as CEL expressions: `Domain{Title: "x"}` sets the title and leaves the rest. Pure; called by the launcher
// before the definition.
import type { VirtualMachineInstance } from '../../api/index.js';
import { KvError } from '../../base/errors.js';
import { evaluate, type Variables } from '../cel/evaluate.js';
import { BuiltObject } from '../cel/values.js';
import type { XmlNode } from '../converter/index.js';
import { mergeDomain } from './domain-merge.js';
import { DomainObject } from './domain-object.js';
import { domainTypeNamed } from './domain-schema.js';
import { vmiVariable } from './plugins.js';

const DOMAIN = 'Domain';

export const domainVariables = (vmi: VirtualMachineInstance, domain: XmlNode): Variables => ({
  ...vmiVariable(vmi),
  domainSpec: new DomainObject(DOMAIN, domain),
});

/** The domain as the expression wants it; Invalid says what is wrong. */
export function mutated(expression: string, domain: XmlNode, variables: Variables): XmlNode {
  const result = evaluate(expression, variables);
  if (!result.ok) throw new KvError('Invalid', `the expression cannot be evaluated: ${result.error}`);
  const { value } = result;
  if (value instanceof DomainObject && value.node === domain) return domain;
  if (value instanceof BuiltObject && domainTypeNamed(value.type) === DOMAIN) return mergeDomain(domain, value);
  throw new KvError('Invalid', 'the expression results in no Domain; write Domain{…} with the fields to change');
}
