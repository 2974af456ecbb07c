import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { outcomeOf, type LoadJob, type Outcome, type Pace } from './jobs.ts';
import { RequestMaker, requestText } from './requests.ts';

/** Bursts: this often, all of a period's requests in this part of it. */
const BURST_MS = { every: 1000, lasting: 250 };

/**
 * Requests on a schedule that does not wait for answers (Poisson arrivals, evenly or in bursts), with latencies from when
 * each was due. Not autocannon: its rate limit sends a second's requests at the second's beginning, as fast as they are
 * answered, so that half of the capacity would be full load for half of the time.
 */
export async function onSchedule(job: LoadJob, pace: Exclude<Pace, 'flat out'>): Promise<Outcome> {
  const { connections, amount } = job;
  const maker = new RequestMaker(job);
  const requests = Array.from({ length: amount }, () => maker.next());
  const texts = requests.map((request) => requestText(request));
  const dueMs = arrivals(amount, pace);

  const latencies = new Float64Array(amount);
  const statuses: Record<string, number> = {};
  const { hostname, port } = new URL(job.url);
  const idle: Connection[] = [];
  let sent = 0;
  let answered = 0;
  let processed = 0;
  let startMs = 0;
  let ended = (): void => undefined;

  const send = (): void => {
    const nowMs = performance.now() - startMs;
    while (sent < amount && dueMs[sent]! <= nowMs) {
      const connection = idle.pop();
      if (connection === undefined) return;
      connection.send(sent, texts[sent++]!);
    }
  };
  const all = Array.from(
    { length: connections },
    () =>
      new Connection({ port: Number(port), host: hostname }, (connection, request, status) => {
        const { events, done } = requests[request]!;
        latencies[answered++] = performance.now() - startMs - dueMs[request]!;
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status === String(done)) processed += events;
        idle.push(connection);
        if (answered === amount) ended();
        else send();
      }),
  );
  await Promise.all(all.map((connection) => connection.open()));
  idle.push(...all);
  startMs = performance.now();
  const timer = setInterval(send, 1);
  await new Promise<void>((resolve) => (ended = resolve));
  clearInterval(timer);
  for (const connection of all) connection.close();
  return outcomeOf({ seconds: (performance.now() - startMs) / 1000, statuses, processed, latencies });
}

/** When each request is due, ms from the start. */
function arrivals(amount: number, pace: { rate: number } | { burstRate: number }): Float64Array {
  const rate = 'rate' in pace ? pace.rate : pace.burstRate;
  const dueMs = new Float64Array(amount);
  for (let no = 1, at = 0; no < amount; no++) dueMs[no] = at += (-Math.log(1 - Math.random()) / rate) * 1000;
  if ('rate' in pace) return dueMs;
  const { every, lasting } = BURST_MS;
  return dueMs.map((at) => Math.floor(at / every) * every + (at % every) * (lasting / every));
}

/** The outcome of a request whose connection the server closed. */
const CLOSED = 'closed';

/**
 * One connection, one request at a time. Reads only the status and the end of an answer. The server closes a connection that
 * was idle for some seconds: the next request opens it again.
 */
class Connection {
  private readonly to: { port: number; host: string };
  private readonly answered: (connection: Connection, request: number, status: string) => void;
  private socket: Socket | null = null;
  /** The number of its request; null without one. */
  private request: number | null = null;
  private received: Buffer = Buffer.alloc(0);

  constructor(
    to: { port: number; host: string },
    answered: (connection: Connection, request: number, status: string) => void,
  ) {
    this.to = to;
    this.answered = answered;
  }

  /** Resolves when it is connected. */
  async open(): Promise<void> {
    await once(this.connect(), 'connect');
  }

  send(request: number, text: Buffer): void {
    this.request = request;
    (this.socket ?? this.connect()).write(text);
  }

  close(): void {
    this.socket?.destroy();
  }

  private connect(): Socket {
    const socket = connect(this.to).setNoDelay(true);
    this.socket = socket;
    this.received = Buffer.alloc(0);
    socket.on('data', (chunk) => this.take(chunk));
    // 'close' follows an error.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      this.socket = null;
      if (this.request !== null) this.end(CLOSED);
    });
    return socket;
  }

  private take(chunk: Buffer): void {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    const head = this.received.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = /content-length: (\d+)/i.exec(this.received.toString('latin1', 0, head))?.[1] ?? '0';
    if (this.received.length < head + 4 + Number(length)) return;
    const status = this.received.toString('latin1', 9, 12);
    this.received = Buffer.alloc(0);
    this.end(status);
  }

  private end(status: string): void {
    const request = this.request!;
    this.request = null;
    this.answered(this, request, status);
  }
}
