import { once } from 'node:events';
import { get, type ClientRequest, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const WAIT_MS = 120_000;
const LOOK_MS = 10;

/** A message as a client reads it. */
export interface SeenMessage {
  id: string;
  type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into messages of any type
  [field: string]: any;
}

/** A client of a live stream of server-sent events. */
export class LiveClient {
  readonly messages: SeenMessage[] = [];
  /** The last ID, also of a heartbeat. */
  lastId: string | null = null;
  ended = false;
  private readonly request: ClientRequest;
  readonly response: IncomingMessage;
  private rest = '';

  private constructor(request: ClientRequest, response: IncomingMessage) {
    this.request = request;
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => this.take(chunk));
    response.on('error', () => undefined);
    response.on('close', () => {
      this.ended = true;
    });
  }

  /** Opens a stream; resolves with its head. */
  static async open(baseUrl: string, query: Record<string, string>, lastEventId?: string): Promise<LiveClient> {
    const request = get(`${baseUrl}/v1/live?${new URLSearchParams(query).toString()}`, {
      agent: false,
      headers: { accept: 'text/event-stream', ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) },
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    request.on('error', () => undefined);
    return new LiveClient(request, response);
  }

  get status(): number {
    return this.response.statusCode ?? 0;
  }

  /** The first message of a type after a number of them, whether it has already arrived or not. */
  async next(type: string, after = 0): Promise<SeenMessage> {
    const deadline = Date.now() + WAIT_MS;
    while (this.of(type).length <= after) {
      if (Date.now() > deadline)
        throw new Error(`No ${type} came: ${JSON.stringify(this.messages.map((one) => one.type))}`);
      await sleep(LOOK_MS);
    }
    return this.of(type)[after]!;
  }

  of(type: string): SeenMessage[] {
    return this.messages.filter((message) => message.type === type);
  }

  close(): void {
    this.request.destroy();
  }

  private take(chunk: string): void {
    const blocks = (this.rest + chunk).split('\n\n');
    this.rest = blocks.pop()!;
    for (const block of blocks) {
      const fields = new Map(
        block
          .split('\n')
          .filter((line) => !line.startsWith(':'))
          .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      if (fields.has('id')) this.lastId = fields.get('id')!;
      if (!fields.has('data')) continue;
      const message = JSON.parse(fields.get('data')!) as SeenMessage;
      if (message.type !== fields.get('event')) throw new Error(`A message of another type: ${block}`);
      this.messages.push(message);
    }
  }
}
