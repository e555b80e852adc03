// Speaks to an MCP server over its standard input and output: JSON-RPC, a line a message. A tool's answer is its text; what the tool
// reports as an error is thrown. Used by the journey of kubernetes-mcp-server.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { KvError } from '../../../src/base/errors.js';

const PROTOCOL = '2025-06-18';
const ANSWER_TIMEOUT_MS = 60_000;

interface Answer {
  readonly id?: number;
  readonly result?: object;
  readonly error?: { readonly message: string };
}

interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly text?: string }[];
}

export class McpClient {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #asked = 0;
  #said = '';

  private constructor([file = '', ...args]: readonly string[]) {
    this.#child = spawn(file, args);
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#receive(JSON.parse(line) as Answer));
    this.#child.stderr.on('data', (data: Buffer) => {
      this.#said = `${this.#said}${data.toString('utf8')}`.slice(-2000);
    });
    this.#child.on('close', (code) => this.#abandon(`it ended with code ${code}`));
  }

  static async start(command: readonly string[]): Promise<McpClient> {
    const client = new McpClient(command);
    const clientInfo = { name: 'kubevirt-ts-journeys', version: '1' };
    await client.request('initialize', { protocolVersion: PROTOCOL, capabilities: {}, clientInfo });
    client.#send({ method: 'notifications/initialized' });
    return client;
  }

  async tools(): Promise<string[]> {
    const { tools } = (await this.request('tools/list', {})) as { tools: readonly { name: string }[] };
    return tools.map(({ name }) => name);
  }

  /** The text that the tool answers with. */
  async call(name: string, args: object): Promise<string> {
    const { isError, content } = (await this.request('tools/call', { name, arguments: args })) as ToolResult;
    const text = content.map((part) => part.text ?? '').join('\n');
    if (isError) throw new KvError('Invalid', `the tool ${name} failed: ${text}`);
    return text;
  }

  async request(method: string, params: object): Promise<object> {
    this.#asked += 1;
    const id = this.#asked;
    const answer = await new Promise<Answer>((resolve) => {
      const timer = setTimeout(() => this.#receive({ id, error: { message: 'no answer in time' } }), ANSWER_TIMEOUT_MS);
      this.#waiting.set(id, (got) => {
        clearTimeout(timer);
        resolve(got);
      });
      this.#send({ id, method, params });
    });
    if (answer.result) return answer.result;
    throw new KvError(
      'Internal',
      `the MCP server on ${method}: ${answer.error?.message ?? 'neither result nor error'}; it said: ${this.#said}`,
    );
  }

  /** It ends when nobody speaks to it any more. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#child.once('close', () => resolve()));
    this.#child.stdin.end();
    await closed;
  }

  #send(message: object): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #receive(answer: Answer): void {
    if (answer.id === undefined) return; // a notification
    const take = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    take?.(answer);
  }

  #abandon(message: string): void {
    for (const id of [...this.#waiting.keys()]) this.#receive({ id, error: { message } });
  }
}
