import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { Receiver } from '../engine/webhooks/receiver.ts';
import { audit, drained, sent, type Findings } from './audit.ts';
import { Client } from './client.ts';
import { configuration } from './configuration.ts';
import { FAULTS } from './faults.ts';
import { HttpClient, knownEverywhere } from './http.ts';
import { Ledger, type OwnUser } from './ledger.ts';
import { ModelUser } from './model.ts';
import { eventually } from './processes.ts';
import { Random } from './random.ts';
import { API_KEY, ChaosStack } from './stack.ts';

export interface ChaosOptions {
  rounds: number;
  seed: number;
  clients?: number;
  /** Only faults whose names contain this text. */
  only?: string;
  /** The file to run instead of the build's. */
  main?: string;
  say: (line: string) => void;
}

export interface Round {
  fault: string;
  /** Whether it had a target. */
  hit: boolean;
  /** From the end of the fault to the first answer to a later call, and until nothing is pending for Postgres. */
  answeredMs: number;
  drainedMs: number;
}

export interface ChaosResult {
  seed: number;
  rounds: Round[];
  sent: number;
  acknowledged: number;
  refused: number;
  abandoned: number;
  requests: number;
  retries: number;
  seconds: number;
  findings: Findings;
}

const CLIENTS = 6;
const OWN_USERS = 3;
/** Load before and after a fault: at least this long, and this many answers. */
const BEFORE_MS = { min: 150, max: 600 };
const AFTER_MS = { min: 250, max: 700 };
const LEAST_ANSWERS = 40;

/** Runs the rounds, each with another fault under load and a final audit; the first difference ends them. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { rounds, seed, clients = CLIENTS, only, main, say } = options;
  const names = Object.keys(FAULTS).filter((name) => name.includes(only ?? ''));
  if (names.length === 0) throw new Error(`No fault's name contains "${only}": ${Object.keys(FAULTS).join(', ')}`);
  const startedMs = performance.now();
  const random = new Random(seed);
  const receiver = await Receiver.start();
  const stack = await ChaosStack.start({ WEBHOOK_ALLOW_PRIVATE: '1' }, main === undefined ? {} : { main });
  const app = new HttpClient(stack.appPort, API_KEY);
  const admin = new HttpClient(stack.adminPort, API_KEY);
  try {
    const applied = await admin.send('PUT', '/v1/configuration', { body: configuration(0) });
    if (applied.status !== 200) throw new Error(`The configuration was refused: ${JSON.stringify(applied.body)}`);
    const webhook = { name: 'chaos', url: receiver.url, events: ['achievement.completed', 'streak.started'] };
    const created = await admin.send('POST', '/v1/webhooks', { body: [webhook] });
    if (created.status !== 201) throw new Error(`The webhook was refused: ${JSON.stringify(created.body)}`);
    await knownEverywhere(app, '/v1/achievements', 5);
    const ledger = new Ledger(`c${seed}`);
    const workers = Array.from({ length: clients }, (_, no) => {
      const own = Array.from({ length: OWN_USERS }, (_each, n): OwnUser => ({
        id: `own-${no}-${n}`,
        model: new ModelUser(),
      }));
      for (const user of own) ledger.own.set(user.id, user);
      return new Client({ app, admin, ledger, random: random.fork(), own });
    });

    const done: Round[] = [];
    let findings: Findings = { differences: [], lost: 0, duplicated: 0, stored: 0, messages: 0 };
    const bag = new Bag(names, random);
    for (let no = 1; no <= rounds && findings.differences.length === 0; no++) {
      const fault = bag.next();
      const round = await runRound({ stack, workers, ledger, random, fault }).catch(async (error: unknown) => {
        // For inspecting processes that hang: the log contains their IDs.
        if (process.env['CHAOS_HOLD']) await sleep(Number(process.env['CHAOS_HOLD']) * 1000);
        const log = (await readFile(stack.logFile, 'utf8')).split('\n').slice(-60).join('\n');
        throw new Error(`Round ${no}, ${fault}. Laurel's last log lines:\n${log}`, { cause: error });
      });
      done.push(round);
      findings = await auditNow({ stack, app, ledger, receiver });
      const ms = `answered after ${round.answeredMs.toFixed(0)} ms, drained after ${round.drainedMs.toFixed(0)} ms`;
      say(
        `${no}/${rounds}  ${round.fault}${round.hit ? '' : ' (nothing to hit)'}: ${ms}; ${findings.stored} events stored`,
      );
      for (const difference of findings.differences.slice(0, 20)) say(`  DIFFERENCE  ${difference}`);
    }
    return {
      seed,
      rounds: done,
      sent: ledger.events.size,
      acknowledged: ledger.count('acknowledged'),
      refused: ledger.count('refused'),
      abandoned: ledger.count('abandoned'),
      requests: ledger.requests,
      retries: ledger.retries,
      seconds: (performance.now() - startedMs) / 1000,
      findings,
    };
  } finally {
    app.close();
    admin.close();
    await stack.stop();
    await receiver.close();
  }
}

async function runRound(round: {
  stack: ChaosStack;
  workers: readonly Client[];
  ledger: Ledger;
  random: Random;
  fault: string;
}): Promise<Round> {
  const { stack, workers, ledger, random, fault } = round;
  const ending = new AbortController();
  const working = Promise.all(workers.map((client) => client.work(ending.signal))).finally(() => ending.abort());
  // A client that gives up ends the round at the await below.
  working.catch(() => undefined);
  const answers = (what: string, sinceMs: number): Promise<void> =>
    eventually(
      what,
      () =>
        ending.signal.aborted ||
        ledger.acknowledgements.filter(({ sentMs }) => sentMs >= sinceMs).length >= LEAST_ANSWERS,
    );
  ledger.acknowledgements = [];
  await sleep(random.whole(BEFORE_MS.min, BEFORE_MS.max));
  await answers('requests are answered before the fault', -Infinity);
  ledger.acknowledgements = [];
  const hit = await FAULTS[fault]!(stack, random);
  const overMs = performance.now();
  await sleep(random.whole(AFTER_MS.min, AFTER_MS.max));
  await answers('requests are answered after the fault', overMs);
  ending.abort();
  await working;
  // Repairs a damaged state of the hot user, if no event did.
  await workers[0]!.hotEvent();
  const after = ledger.acknowledgements.filter(({ sentMs }) => sentMs >= overMs).map(({ atMs }) => atMs);
  const redis = new Redis(stack.redisUrl);
  await drained(redis);
  redis.disconnect();
  return {
    fault,
    hit,
    answeredMs: Math.min(...after, performance.now()) - overMs,
    drainedMs: performance.now() - overMs,
  };
}

async function auditNow({
  stack,
  app,
  ledger,
  receiver,
}: {
  stack: ChaosStack;
  app: HttpClient;
  ledger: Ledger;
  receiver: Receiver;
}): Promise<Findings> {
  const redis = new Redis(stack.redisUrl);
  const sql = new pg.Client({ connectionString: stack.databaseUrl });
  await sql.connect();
  try {
    await sent(sql);
    const { received } = receiver;
    return await audit({ app, sql, redis, ledger, planted: stack.planted, received });
  } finally {
    redis.disconnect();
    await sql.end();
  }
}

/** Draws each name once before any repeats. */
export class Bag {
  private readonly names: readonly string[];
  private readonly random: Random;
  private left: string[] = [];

  constructor(names: readonly string[], random: Random) {
    this.names = names;
    this.random = random;
  }

  next(): string {
    if (this.left.length === 0) this.left = [...this.names];
    return this.left.splice(this.random.whole(0, this.left.length - 1), 1)[0]!;
  }
}
