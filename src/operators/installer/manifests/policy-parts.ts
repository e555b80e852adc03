// Building blocks of admission policies that the API server evaluates itself (CEL): a policy with its binding, and refusals. Pure.
import { LABEL, type ValidatingAdmissionPolicy, type ValidatingAdmissionPolicyBinding } from '../../../api/index.js';

export type PolicyObject = ValidatingAdmissionPolicy | ValidatingAdmissionPolicyBinding;
type PolicySpec = NonNullable<ValidatingAdmissionPolicy['spec']>;
type Validation = NonNullable<PolicySpec['validations']>[number];

export interface MatchRule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

export interface PolicyParts {
  readonly match: MatchRule;
  readonly bindTo: MatchRule;
  readonly spec: Omit<PolicySpec, 'matchConstraints'>;
  readonly objectLabels?: Readonly<Record<string, string>>;
  readonly actions?: readonly string[];
}

const API_VERSION = 'admissionregistration.k8s.io/v1';

type ResourceRules = NonNullable<NonNullable<PolicySpec['matchConstraints']>['resourceRules']>;

const rules = ({ apiGroups, apiVersions, operations, resources }: MatchRule): ResourceRules => [
  { apiGroups: [...apiGroups], apiVersions: [...apiVersions], operations: [...operations], resources: [...resources] },
];

/** `<name>-policy` and `<name>-binding`. */
export function policyWithBinding(
  name: string,
  { match, bindTo, spec, objectLabels, actions = ['Deny'] }: PolicyParts,
): [ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding] {
  const policyName = `${name}-policy`;
  return [
    {
      apiVersion: API_VERSION,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: policyName },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: rules(match),
          ...(objectLabels ? { objectSelector: { matchLabels: { ...objectLabels } } } : {}),
        },
        ...spec,
      },
    },
    {
      apiVersion: API_VERSION,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: `${name}-binding`, labels: { [LABEL.app]: name } },
      spec: { policyName, validationActions: [...actions], matchResources: { resourceRules: rules(bindTo) } },
    },
  ];
}

/** Refused with 403. */
export const deny = (expression: string, message: string): Validation => ({ expression, message, reason: 'Forbidden' });

/** Refused with 422, the API server's default. */
export const refuse = (expression: string, message: string): Validation => ({ expression, message });
