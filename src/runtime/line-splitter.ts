// Cuts a byte stream into lines without decoding half characters: bytes become text only when their line is complete.

const NEWLINE = 0x0a;

export class LineSplitter {
  #rest: Buffer[] = [];

  /** The lines that this chunk completes, without empty ones. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, start)) {
      const line = this.#take(chunk.subarray(start, at));
      if (line !== '') lines.push(line);
      start = at + 1;
    }
    if (start < chunk.length) this.#rest.push(chunk.subarray(start));
    return lines;
  }

  /** What is left when the stream ends. */
  end(): string {
    return this.#take(Buffer.alloc(0));
  }

  #take(last: Buffer): string {
    if (this.#rest.length === 0) return last.toString('utf8');
    const line = Buffer.concat([...this.#rest, last]).toString('utf8');
    this.#rest = [];
    return line;
  }
}
