import { setTimeout as sleep } from 'node:timers/promises';
import { configuration } from './configuration.ts';
import type { HttpClient, Reply } from './http.ts';
import type { Ledger, OwnUser, SentEvent } from './ledger.ts';
import { microsOf, microsText } from './micros.ts';
import type { Random } from './random.ts';

/** The user whom all clients share most of the time. */
export const HOT_USER = 'hot';
const SHARED_USERS = [HOT_USER, 'ann', 'ben', 'cem', 'dua', 'eve', 'fay', 'gus'];
const PAUSE_MS = { min: 2, max: 18 };
const RETRY_MS = { min: 30, max: 150 };
/** A call without an answer for this long is itself a finding. */
const PATIENCE_MS = 40_000;

export interface ClientOptions {
  app: HttpClient;
  admin: HttpClient;
  ledger: Ledger;
  random: Random;
  /** Users whom only this client names. */
  own: readonly OwnUser[];
}

/** A client that sends one event after the other, each with its key until it is answered. */
export class Client {
  private readonly options: ClientOptions;

  constructor(options: ClientOptions) {
    this.options = options;
  }

  /** Works until `ending` resolves, then finishes what it has begun. */
  async work(ending: AbortSignal): Promise<void> {
    const { random } = this.options;
    while (!ending.aborted) {
      const draw = random.next();
      if (draw < 0.55) await this.sharedEvent();
      else if (draw < 0.88) await this.ownEvent();
      else if (draw < 0.93) await this.batch();
      else if (draw < 0.96) await this.badEvent();
      else if (draw < 0.99) await this.tour();
      else await this.configure();
      await sleep(random.whole(PAUSE_MS.min, PAUSE_MS.max));
    }
  }

  /** Sends one event of `HOT_USER` until it is accepted. */
  async hotEvent(): Promise<void> {
    const { ledger } = this.options;
    await this.send(
      ledger.add({ userId: HOT_USER, metric: 'cards', micros: wholeMicros(1), keyed: true, batch: false }),
      false,
    );
  }

  private async sharedEvent(): Promise<void> {
    const { ledger, random } = this.options;
    const userId = random.chance(0.4) ? HOT_USER : random.pick(SHARED_USERS);
    const keyed = random.chance(0.85);
    const event = ledger.add({ userId, metric: 'cards', micros: wholeMicros(random.whole(1, 9)), keyed, batch: false });
    // Without a key nobody may retry; with a key some clients still give up.
    await this.send(event, !keyed || random.chance(0.2));
  }

  private async ownEvent(): Promise<void> {
    const { ledger, random } = this.options;
    const { id: userId, model } = random.pick(this.options.own);
    const metric = random.pick(['cards', 'minutes', 'minutes', 'spend'] as const);
    const micros =
      metric === 'minutes' ? BigInt(random.whole(-9_000_000, 14_000_000)) : wholeMicros(random.whole(1, 4));
    const event = ledger.add({ userId, metric, micros, keyed: true, batch: false });
    const accepted = model.event(metric, micros);
    const reply = await this.send(event, false);
    if (accepted !== (event.outcome === 'acknowledged')) {
      ledger.contradict(
        `${event.mark}: status ${reply?.status}, but by the model ${accepted ? 'accepted' : 'refused'}`,
      );
    } else if (reply !== null && accepted) {
      const { total } = reply.body as { total: number };
      const expected = microsText(model.totals[metric]);
      if (String(total) !== expected) ledger.contradict(`${event.mark}: answered total ${total}, expected ${expected}`);
    }
  }

  private async badEvent(): Promise<void> {
    const { ledger, random } = this.options;
    const event = ledger.add({ userId: HOT_USER, metric: 'cards', micros: 1_000_000n, keyed: true, batch: false });
    await this.send(
      event,
      false,
      random.pick([{ value: 'many' }, { attributes: { unheard: 'of' } }, { user: { id: HOT_USER, tz: 'Mars/Base' } }]),
    );
    if (event.outcome !== 'refused') ledger.contradict(`${event.mark}: a bad event was ${event.outcome}`);
  }

  private async batch(): Promise<void> {
    const { admin, ledger, random } = this.options;
    const events = Array.from({ length: random.whole(1, 12) }, () =>
      ledger.add({
        userId: random.pick(SHARED_USERS),
        metric: 'cards',
        micros: wholeMicros(random.whole(1, 9)),
        keyed: true,
        batch: true,
      }),
    );
    const body = events.map(({ userId, micros, mark }) => ({
      key: 'cards',
      user: { id: userId },
      value: Number(microsText(micros)),
      idempotencyKey: mark,
    }));
    const reply = await this.until(() => admin.send('POST', '/v1/metrics/events', { body }), { tries: events });
    for (const event of events) event.outcome = reply?.status === 202 ? 'acknowledged' : 'refused';
    if (reply?.status !== 202)
      ledger.contradict(`a good batch was answered ${reply?.status} ${JSON.stringify(reply?.body)}`);
  }

  private async tour(): Promise<void> {
    const { app, ledger, random, own } = this.options;
    const user = random.chance(0.5) ? random.pick(own) : null;
    const id = user?.id ?? random.pick(SHARED_USERS);
    const reply = await this.until(() =>
      app.send('POST', '/v1/achievements/tour/complete', { body: { user: { id } } }),
    );
    if (reply?.status !== 201)
      return ledger.contradict(`tour of ${id}: ${reply?.status} ${JSON.stringify(reply?.body)}`);
    ledger.tours.add(id);
    user?.model.tour();
  }

  private async configure(): Promise<void> {
    const { admin, ledger, random } = this.options;
    const body = configuration(random.whole(1, 1_000_000));
    const reply = await this.until(() => admin.send('PUT', '/v1/configuration', { body }));
    if (reply?.status !== 200) ledger.contradict(`configuration: ${reply?.status} ${JSON.stringify(reply?.body)}`);
  }

  /** Sends an event until it is answered, or, if the client may give up, fails once. */
  private async send(event: SentEvent, givesUp: boolean, changed: object = {}): Promise<Reply | null> {
    const { app, ledger } = this.options;
    const body = {
      user: { id: event.userId },
      value: Number(microsText(event.micros)),
      ...(event.keyed ? {} : { attributes: { deck: event.mark } }),
      ...changed,
    };
    const path = `/v1/metrics/${event.metric}/event`;
    const key = event.keyed ? { idempotencyKey: event.mark } : {};
    const reply = await this.until(() => app.send('POST', path, { body, ...key }), { tries: [event], once: givesUp });
    if (reply === null) event.outcome = 'abandoned';
    else if (reply.status === 201 || reply.status === 202) {
      event.outcome = 'acknowledged';
      event.eventId = (reply.body as { eventId: string }).eventId;
    } else event.outcome = 'refused';
    if (reply?.status === 202 && event.tries === 1) ledger.contradict(`${event.mark}: a replay at the first try`);
    return reply;
  }

  /**
   * Calls until the answer is neither a connection error nor a 5xx; returns `null` if `once` is set and the only call fails.
   */
  private async until(
    call: () => Promise<Reply>,
    { tries = [], once = false }: { tries?: readonly SentEvent[]; once?: boolean } = {},
  ): Promise<Reply | null> {
    const { ledger, random } = this.options;
    const deadline = performance.now() + PATIENCE_MS;
    for (let attempt = 1; ; attempt++) {
      for (const event of tries) event.tries += 1;
      ledger.requests += 1;
      if (attempt > 1) ledger.retries += 1;
      const sentMs = performance.now();
      let problem = '';
      const reply = await call().catch((error: unknown) => ((problem = String(error)), null));
      if (reply !== null && reply.status < 500) {
        ledger.acknowledgements.push({ sentMs, atMs: performance.now() });
        return reply;
      }
      const what = problem || `${reply!.status} ${JSON.stringify(reply!.body)}`;
      ledger.failures.push({ what, sentMs, atMs: performance.now() });
      if (reply !== null && reply.status !== 503)
        ledger.contradict(`answered ${reply.status} ${JSON.stringify(reply.body)}`);
      if (once) return null;
      if (performance.now() > deadline)
        throw new Error(`A call got no answer in ${PATIENCE_MS / 1000} s: ${problem || JSON.stringify(reply)}`);
      await sleep(random.whole(RETRY_MS.min, RETRY_MS.max));
    }
  }
}

const wholeMicros = (whole: number): bigint => microsOf(String(whole));
