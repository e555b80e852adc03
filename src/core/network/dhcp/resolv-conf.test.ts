import { describe, expect, it } from 'vitest';
import { parseResolvConf } from './resolv-conf.js';

describe('a pod’s resolver', () => {
  it.each([
    ['both', 'search a.b c.d\nnameserver 10.96.0.10\nnameserver fd00::a\n', ['10.96.0.10', 'fd00::a'], ['a.b', 'c.d']],
    ['the last search list counts', 'search a.b\ndomain c.d\nnameserver 1.1.1.1\n', ['1.1.1.1'], ['c.d']],
    ['domains in lower case', 'search Corp.Example\nnameserver 1.1.1.1\n', ['1.1.1.1'], ['corp.example']],
    ['without comments', '# nameserver 9.9.9.9\nnameserver 1.1.1.1 ; here\nsearch a.b # there\n', ['1.1.1.1'], ['a.b']],
    ['nothing: KubeVirt’s defaults', 'options ndots:5\n', ['8.8.8.8'], ['cluster.local']],
  ])('%s', (_, text, nameservers, search) => expect(parseResolvConf(text)).toEqual({ nameservers, search }));
});
