import { setTimeout as sleep } from 'node:timers/promises';
import type { SystemState } from '../../domain/administration/system.ts';
import { systemClock } from '../../clock.ts';
import { version } from '../../version.ts';
import { type AdminOptions, askAdmin, askPatiently } from '../admin-api.ts';
import { CommandError } from '../command.ts';
import { Connection } from './connection.ts';
import { type MadeEvent, type Shape } from './events.ts';
import type { LoadJob } from './generator.ts';
import { LoadProcesses, type MergedOutcome } from './processes.ts';
import type { Progress } from './progress.ts';
import { exceededBy, nextRate, type RampStep, sustained } from './ramp.ts';
import { singleEvent } from './requests.ts';
import { FORMAT, generatorSummary, type LoadResult, machine, type Summary, summaryOf } from './result.ts';
import type { Scenario } from './scenario.ts';
import { durationMs, rateAt, rateCurve, type RatePoint } from './schedule.ts';
import { ServerFigures } from './server-figures.ts';
import { LiveStreams } from './streams.ts';
import { checkKey, deleteUsers, resolveNames, type Target, usersBeginning } from './target.ts';
import { verifyLoad } from './verify.ts';

/** A load test, with the options of the command applied to the scenario. */
export interface LoadSettings {
  target: Target;
  scenarioName: string;
  scenario: Scenario;
  /** Closed loop: each connection sends when its previous request is answered. */
  flatOut: boolean;
  processes: number;
  seed: number;
  /** Part of the IDs of the run's users and of its idempotency keys. */
  run: string;
  /** Words of the command, without keys. */
  command: string;
  verify: boolean;
  clean: boolean;
}

const DEFAULTS = { duration: '30s', warmUp: '2s', rate: 100, connections: 64, users: 10_000, keyed: 0.3, factor: 1.5 };
/** A batch has this many events, unless the scenario says otherwise. */
const BATCH_EVENTS = 1_000;
/** Samples of the server's figures in one run, at most. */
const MOST_SAMPLES = 600;
const RESEND_TIMEOUT_MS = 30_000;
const VAIN_DELETIONS = 20;
/** Lists without a user, half a second apart, while events wait to be stored. */
const VAIN_LISTS = 60;
/** Requests that delete users at the same time. */
const DELETIONS = 4;

export const userPrefix = (run: string): string => `load-${run}-`;

/** What one load measured. */
interface Measured {
  outcome: MergedOutcome;
  summary: Summary;
  server: ServerFigures['samples'];
}

/** Runs a load test. `signal`: ends it early, with the figures so far. */
export async function runLoad(settings: LoadSettings, progress: Progress, signal: AbortSignal): Promise<LoadResult> {
  const { target, scenario, run } = settings;
  await checkKey(target);
  if (target.admin === null && scenario.requests.some(({ kind }) => kind === 'batch'))
    throw new CommandError("requests: 'batch' needs the Admin API: give --admin-url.");
  const { shape, created } = await resolveNames(target, scenario);
  if (created.length > 0) progress.say(`Created the metrics ${created.join(', ')}.`);
  const started = new Date(systemClock.now());
  const processes = new LoadProcesses(settings.processes);
  const streams = new LiveStreams();
  signal.addEventListener('abort', () => processes.stop());
  try {
    await openStreams(streams, settings, shape);
    const load = new Load({ settings, shape, processes, progress });
    const steps = scenario.ramp === undefined ? null : await rampUp(load, signal);
    const measured = steps === null ? await load.measured() : steps.best;
    const streamed = await streams.close();
    await processes.end();
    const days = { from: utcDay(started), to: utcDay(new Date(systemClock.now())) };
    const resend = (event: MadeEvent) => sendOnce(target, event);
    const onProgress = (step: string, done: number, total: number): void => progress.step(step, done, total);
    const { ledger } = processes;
    const verification = settings.verify ? await verifyLoad({ target, ledger, days, resend, onProgress }) : null;
    const cleaned = settings.clean ? await clean(target, run, progress) : null;
    return {
      format: FORMAT,
      run,
      started: started.toISOString(),
      command: settings.command,
      url: target.app.url,
      scenarioName: settings.scenarioName,
      scenario,
      flatOut: settings.flatOut,
      seed: settings.seed,
      interrupted: signal.aborted,
      machine: machine(),
      versions: await versionsOf(target),
      summary: measured.summary,
      latency: measured.outcome.latency,
      seconds: measured.outcome.all,
      server: measured.server,
      generator: generatorSummary(measured.outcome.health, measured.summary),
      streams: scenario.streams === undefined || scenario.streams === 0 ? null : streamed,
      ramp: steps?.steps ?? null,
      createdMetrics: created,
      verification,
      cleaned,
    };
  } finally {
    await streams.close();
    await processes.end();
  }
}

/** Runs the loads of one test: a warm-up, then one or several that are measured. */
class Load {
  private readonly settings: LoadSettings;
  private readonly processes: LoadProcesses;
  private readonly progress: Progress;
  private readonly shape: Shape;
  private runs = 0;

  constructor(options: { settings: LoadSettings; shape: Shape; processes: LoadProcesses; progress: Progress }) {
    this.settings = options.settings;
    this.shape = options.shape;
    this.processes = options.processes;
    this.progress = options.progress;
  }

  /** A warm-up, which does not count, and the load. */
  async measured(): Promise<Measured> {
    const { scenario } = this.settings;
    const curve = rateCurve(scenario.rate ?? DEFAULTS.rate, 'rate');
    const warmUpMs = durationMs(scenario.warmUp ?? DEFAULTS.warmUp, 'warmUp');
    if (warmUpMs > 0) {
      this.progress.say(`Warming up for ${warmUpMs / 1000} s …`);
      const rate = rateAt(curve, 0) || Math.max(...curve.map(({ perSecond }) => perSecond));
      await this.processes.run(this.job([{ atMs: 0, perSecond: rate }], warmUpMs / 1000));
    }
    return this.once(curve);
  }

  /** One load of the scenario's duration. */
  async once(curve: RatePoint[]): Promise<Measured> {
    const { target, scenario } = this.settings;
    const seconds = durationMs(scenario.duration ?? DEFAULTS.duration, 'duration') / 1000;
    const figures = target.admin === null ? null : new ServerFigures(target.admin);
    const sampleEvery = Math.ceil(seconds / MOST_SAMPLES);
    await figures?.sample(0);
    this.progress.begin(seconds);
    const outcome = await this.processes.run(this.job(curve, seconds), (second) => {
      this.progress.second(second);
      if (figures !== null && (second.second + 1) % sampleEvery === 0) void figures.sample(second.second + 1);
    });
    this.progress.end();
    return { outcome, summary: summaryOf(outcome), server: figures?.samples ?? [] };
  }

  private job(curve: RatePoint[], seconds: number): LoadJob {
    const { target, scenario, run, seed, flatOut, verify } = this.settings;
    this.runs += 1;
    const { app, admin } = target;
    const { bursts } = scenario;
    const users = scenario.users ?? DEFAULTS.users;
    const prefix = userPrefix(run);
    return {
      url: app.url,
      adminUrl: admin?.url ?? null,
      headers: { 'x-api-key': app.key ?? '', ...(app.tenant !== undefined && { 'tenant-id': app.tenant }) },
      requests: scenario.requests.map(({ kind, weight = 1, events = BATCH_EVENTS }) => ({ kind, weight, events })),
      shape: this.shape,
      crowd: users === 1 ? { hotUser: `${prefix}0` } : { users, prefix },
      seed: seed + 7_919 * this.runs,
      keyed: scenario.keyed ?? DEFAULTS.keyed,
      keyPrefix: `${prefix}${this.runs}`,
      retries: scenario.retries ?? false,
      ...(scenario.values !== undefined && { values: { decimals: 0, ...scenario.values } }),
      connections: scenario.connections ?? DEFAULTS.connections,
      pace: flatOut
        ? 'flat out'
        : {
            curve,
            share: 1,
            bursts:
              bursts === undefined
                ? null
                : {
                    everyMs: durationMs(bursts.every, 'bursts.every'),
                    withinMs: durationMs(bursts.within ?? '0s', 'bursts.within'),
                  },
          },
      ends: { seconds },
      verify,
    };
  }

  get limits(): NonNullable<Scenario['limits']> {
    return this.settings.scenario.limits ?? {};
  }

  get ramp(): { from: number; factor: number } {
    const { from, factor = DEFAULTS.factor } = this.settings.scenario.ramp!;
    return { from, factor };
  }

  say(line: string): void {
    this.progress.say(line);
  }
}

/** Loads at rising rates. `best`: the highest that was sustained, or the last one if none was. */
async function rampUp(load: Load, signal: AbortSignal): Promise<{ steps: RampStep[]; best: Measured }> {
  const steps: RampStep[] = [];
  const measured = new Map<RampStep, Measured>();
  for (let rate = nextRate(steps, load.ramp); rate !== null; rate = nextRate(steps, load.ramp)) {
    const one = await load.once([{ atMs: 0, perSecond: rate }]);
    const { perSecond, p50, p99, errors } = one.summary;
    // A step that was cut short says nothing, unless there is no other.
    if (signal.aborted && steps.length > 0) break;
    const { isLimit: limitedByGenerator } = generatorSummary(one.outcome.health, one.summary);
    const figures = { rate, perSecond, p50, p99, errors };
    const step = { ...figures, exceeded: exceededBy(figures, load.limits), limitedByGenerator };
    steps.push(step);
    measured.set(step, one);
    const verdict = limitedByGenerator ? 'the generator is the limit' : (step.exceeded ?? 'sustained');
    load.say(`${rate.toFixed(0)}/s: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms: ${verdict}`);
    if (signal.aborted) break;
  }
  return { steps, best: measured.get(sustained(steps) ?? steps.at(-1)!)! };
}

async function openStreams(streams: LiveStreams, { target, scenario, run }: LoadSettings, shape: Shape): Promise<void> {
  const number = scenario.streams ?? 0;
  if (number === 0) return;
  const users = scenario.users ?? DEFAULTS.users;
  const userIds = Array.from({ length: number }, (_, no) => `${userPrefix(run)}${no % users}`);
  await streams.open(target.app, { userIds, boards: shape.leaderboards.slice(0, 1) });
}

/** Sends one event and waits for its answer. */
async function sendOnce({ app }: Target, event: MadeEvent): Promise<{ status: string; body: string }> {
  const url = new URL(app.url);
  const connection = new Connection(url, RESEND_TIMEOUT_MS);
  const path = url.pathname.replace(/\/+$/, '');
  const { text } = singleEvent(event, {
    hosts: { app: url.host, admin: url.host },
    basePaths: { app: path, admin: path },
    headers: { 'x-api-key': app.key ?? '', ...(app.tenant !== undefined && { 'tenant-id': app.tenant }) },
  });
  const timer = setInterval(() => connection.check(performance.now()), 1_000);
  try {
    return await new Promise((resolve) => {
      connection.send(text, { wantsBody: true, onAnswer: (status, body) => resolve({ status, body }) });
    });
  } finally {
    clearInterval(timer);
    connection.close();
  }
}

/** Deletes the users of a run; returns their number. */
export async function clean(target: Target, run: string, progress: Progress): Promise<number> {
  const { admin } = target;
  if (admin === null) throw new CommandError('--clean needs the Admin API: give --admin-url.');
  let deleted = 0;
  let vain = 0;
  for (;;) {
    const pages = usersBeginning(admin, userPrefix(run));
    const before = deleted;
    let listed: string | undefined;
    const deletePages = async (): Promise<void> => {
      for await (const ids of pages) {
        listed ??= ids[0];
        const gone = await deleteUsers(admin, ids);
        deleted += gone;
        progress.step('users deleted', deleted, null);
      }
    };
    await Promise.all(Array.from({ length: DELETIONS }, deletePages));
    vain = deleted === before ? vain + 1 : 0;
    // Users are listed when Postgres has them: the last events may still wait for that.
    if (listed === undefined && (vain === VAIN_LISTS || !(await hasOutbox(admin)))) break;
    if (listed !== undefined && vain === VAIN_DELETIONS)
      throw new CommandError(`The users ${listed} … are listed, but cannot be deleted.`);
    if (vain > 0) await sleep(500);
  }
  progress.end();
  return deleted;
}

/** Whether accepted events wait to be stored, of this run or other ones. */
async function hasOutbox(admin: AdminOptions): Promise<boolean> {
  const { shards } = await askPatiently<SystemState>(admin, { method: 'GET', path: '/v1/system' });
  return (shards ?? []).some(({ outboxEntries }) => outboxEntries > 0);
}

async function versionsOf({ admin }: Target): Promise<LoadResult['versions']> {
  const system =
    admin === null
      ? null
      : ((await askAdmin(admin, { method: 'GET', path: '/v1/system' }).catch(() => null)) as SystemState | null);
  return {
    generator: version(),
    laurel: system?.version ?? null,
    node: system?.node ?? null,
    redis: system?.redis === null || system === null ? null : `${system.redis.server} ${system.redis.version}`,
    postgres: system?.postgres?.version ?? null,
  };
}

const utcDay = (date: Date): string => date.toISOString().slice(0, 10);
