// The room table: which folder of src/ may import which. The only place where it is written down; read by dependency-cruiser.
const rooms = {
  base: [],
  api: ['base'],
  core: ['api', 'base'],
  runtime: ['api', 'base'],
  rpc: ['api', 'base'],
  linux: ['base'],
  libvirt: ['base'],
  http: ['base'],
  operators: ['runtime', 'core', 'api', 'base'],
  webhooks: ['http', 'runtime', 'core', 'api', 'base'],
  subresources: ['http', 'runtime', 'core', 'api', 'base'],
  node: ['runtime', 'rpc', 'linux', 'http', 'core', 'api', 'base'],
  launcher: ['rpc', 'libvirt', 'linux', 'core', 'api', 'base'],
  main: ['operators', 'webhooks', 'subresources', 'node', 'launcher', 'runtime', 'rpc', 'libvirt', 'linux', 'http', 'core', 'api', 'base'],
};

// Packages that exactly one place may load (type-only imports are exempt).
const owners = [
  {
    name: 'schema',
    packages: ['class-validator', 'class-transformer', 'class-validator-jsonschema', 'reflect-metadata'],
    only: '^src/(api/|base/crypto)',
  },
  { name: 'observability', packages: ['pino', 'prom-client'], only: '^src/base/' },
  { name: 'kubernetes', packages: ['@kubernetes/client-node', '@dot-i/k8s-operator'], only: '^src/runtime/' },
  { name: 'grpc', packages: ['@grpc/grpc-js', '@grpc/proto-loader'], only: '^(src/rpc|test)/' },
  { name: 'ffi', packages: ['koffi'], only: '^src/(libvirt/|linux/ffi)' },
  { name: 'web', packages: ['express', 'ws'], only: '^src/http/' },
];

module.exports = { rooms, owners };
