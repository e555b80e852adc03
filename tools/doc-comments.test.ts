import { describe, expect, it } from 'vitest';
import { docComments } from './doc-comments.js';

const SOURCE = `// A file.
/** How long. */
export type Length = string;

/** A thing that has
 *  two lines. */
export class NotRead {}

/**
 * A machine, which
 * runs.
 */
@JSONSchema({ nullable: true })
export class Machine {
  /** What it is called. */
  @IsString()
  name!: string;
  @IsString()
  @IsOptional()
  other?: string;
}

export class Plain {
  @IsString()
  name!: string;
}
`;

describe('doc comments', () => {
  it('belong to the class or field below them, also across decorators', () => {
    expect(Object.fromEntries(docComments(SOURCE))).toEqual({
      Machine: 'A machine, which runs.',
      'Machine.name': 'What it is called.',
    });
  });
});
