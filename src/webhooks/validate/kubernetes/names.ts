// Kubernetes' rules for names: DNS labels and subdomains, label keys, port names. Each function returns what is wrong, or nothing.

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

const tooLong = (limit: number): string => `must be no more than ${limit} bytes`;

function problems(value: string, limit: number, shape: RegExp, rule: string): string[] {
  return [...(value.length > limit ? [tooLong(limit)] : []), ...(shape.test(value) ? [] : [rule])];
}

export const dnsLabelProblems = (value: string): string[] =>
  problems(value, 63, LABEL, "must be a lower case RFC 1123 label: letters, digits and '-', beginning and ending with a letter or digit");

export const dnsSubdomainProblems = (value: string): string[] =>
  problems(value, 253, SUBDOMAIN, "must be a lower case RFC 1123 subdomain: labels of letters, digits and '-', joined by '.'");

/** A label key: `[prefix/]name`. */
export function labelKeyProblems(key: string): string[] {
  const parts = key.split('/');
  if (parts.length > 2) return ["must be a name with an optional prefix and one '/'"];
  const name = parts.at(-1) ?? '';
  const prefix = parts.length === 2 ? (parts[0] ?? '') : undefined;
  return [
    ...(prefix === '' ? ['must not begin with a slash: give the prefix before it, or take it out'] : []),
    ...(prefix ? dnsSubdomainProblems(prefix).map((p) => `has a prefix that ${p}`) : []),
    ...(name === '' ? ['must not be empty after its prefix'] : []),
    ...problems(name, 63, QUALIFIED, "must consist of letters, digits, '-', '_' or '.', beginning and ending with a letter or digit"),
  ];
}

export const labelValueProblems = (value: string): string[] =>
  problems(value, 63, LABEL_VALUE, "must be empty or consist of letters, digits, '-', '_' or '.'");

/** Names of service ports: up to 15 of `a-z0-9-`, with at least one letter, no double or outer dash. */
export function portNameProblems(name: string): string[] {
  return [
    ...(name.length > 15 ? [tooLong(15)] : []),
    ...(/^[-a-z0-9]+$/.test(name) ? [] : ["must contain only lower case letters, digits and '-'"]),
    ...(/[a-z]/.test(name) ? [] : ['must contain at least one letter']),
    ...(name.includes('--') ? ["must not contain consecutive '-'"] : []),
    ...(/^-|-$/.test(name) ? ["must not begin or end with '-'"] : []),
  ];
}
