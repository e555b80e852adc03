const { rooms, owners } = require('./tools/rooms.cjs');

module.exports = {
  allowedSeverity: 'error',
  allowed: [
    { from: { path: '^src/([^/]+)/' }, to: { path: '^src/$1/' } },
    { from: {}, to: { path: 'node_modules', dependencyTypesNot: ['npm-no-pkg', 'npm-dev'] } },
    { from: { path: '\\.test\\.ts$' }, to: { path: 'node_modules|^test/(builders|fakes)/' } },
    { from: { path: '^test/(builders|fakes)/' }, to: { path: '^(src|test)/' } },
    { from: {}, to: { dependencyTypes: ['core'] } },
    ...Object.entries(rooms).map(([room, to]) => ({ from: { path: `^src/${room}/` }, to: { path: `^src/(${[...to, 'none'].join('|')})/` } })),
  ],
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true, dependencyTypesNot: ['type-only'] } },
    {
      name: 'core-is-pure',
      comment: 'core decides; it does no I/O',
      severity: 'error',
      from: { path: '^src/core/', pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(path|path/posix|net|crypto)$' },
    },
    ...owners.map(({ name, packages, only }) => ({
      name: `${name}-owner`,
      severity: 'error',
      from: { pathNot: `${only}|\\.test\\.ts$` },
      to: { path: `node_modules/(${packages.join('|')})/`, dependencyTypesNot: ['type-only'] },
    })),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default'],
      extensions: ['.ts', '.js', '.cjs', '.mjs', '.json'],
    },
  },
};
