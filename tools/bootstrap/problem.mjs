// An obstacle that the reader of the message can remove; shown without a stack.
export class Problem extends Error {}
