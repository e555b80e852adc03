// Reads the lists that say what the images are made from: Debian package names per architecture, and this machine's Debian mirror.
// Pure text in, values out; called by workshop.ts.

/** `NAME` or `NAME [ARCHITECTURE]` a line; `#` starts a comment. install.sh reads the same file. */
export function parsePackages(text: string, architecture: string): string[] {
  return text
    .split('\n')
    .map((line) => /^\s*([^\s#]+)(?:\s+\[([a-z0-9]+)\])?/.exec(line.replace(/#.*/, '')))
    .flatMap((match) => (match?.[1] && (match[2] === undefined || match[2] === architecture) ? [match[1]] : []));
}

interface Source {
  readonly uri: string;
  readonly suites: readonly string[];
  readonly components: readonly string[];
}

const CODENAME = /^(bullseye|bookworm|trixie|forky|sid|stable|testing|unstable|oldstable)$/;

function deb822(text: string): Source[] {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    const field = (name: string): string[] => new RegExp(`^${name}:[ \\t]*(.*)$`, 'im').exec(stanza)?.[1]?.trim().split(/\s+/) ?? [];
    if (!field('Types').includes('deb') || field('Enabled')[0] === 'no') return [];
    return field('URIs').map((uri) => ({ uri, suites: field('Suites'), components: field('Components') }));
  });
}

function oneLine(text: string): Source[] {
  return [...text.matchAll(/^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)$/gm)].map(([, uri = '', suite = '', components = '']) => ({
    uri,
    suites: [suite],
    components: components.trim().split(/\s+/),
  }));
}

/** The mirror that this machine installs Debian itself from, or undefined when it is no Debian. `files`: text of apt's source lists by name. */
export function debianMirror(files: Readonly<Record<string, string>>): string | undefined {
  const sources = Object.entries(files).flatMap(([name, text]) => (name.endsWith('.sources') ? deb822(text) : oneLine(text)));
  return sources.find(({ suites, components }) => components.includes('main') && suites.some((suite) => CODENAME.test(suite)))?.uri;
}
