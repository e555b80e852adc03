// class-transformer keeps its decorators' facts in a module that has no type declarations of its own.
declare module 'class-transformer/cjs/storage.js' {
  export const defaultMetadataStorage: never;
}
