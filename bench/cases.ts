import { sweepBeside, type Beside } from './beside.ts';
import type { DirectJob, LoadJob } from './jobs.ts';
import { KEYED, type Shape } from '../src/cli/load/events.ts';
import type { Stack } from './stack.ts';

export interface CaseOptions {
  stack: Stack;
  shape: Shape;
  users: number;
  connections: number;
}

/** The amount of a case: total requests (or direct events); events per direct call; requests per second on a schedule. */
export interface Size {
  amount: number;
  batch: number;
  rate: number;
}

/** A measurement, made in turn with the others in every round. */
export interface Case {
  name: string;
  /** A description for readers of the table. */
  about: string;
  /** The process whose CPU is the `node` figure. */
  node: Exclude<keyof Stack['pids'], 'worker' | 'postgres'>;
  /** Requests (or direct events) of the first, uncounted measurement, which estimates the speed. */
  warmUp: number;
  /** The share of the measured capacity at which it runs; without it, as fast as answers come. */
  ofCapacity?: number;
  /** True if its events do not go to Laurel's Postgres. */
  elsewhere?: true;
  /** This many webhooks want all types meanwhile; the CPU of worker and Postgres includes all deliveries. */
  webhooks?: number;
  /** The worker is stopped meanwhile. */
  unpersisted?: true;
  /**
   * In separate rounds after the others: their requirements (a million members in Redis, a second service's tables and their
   * vacuuming in Postgres) would slow the others down.
   */
  apart?: true;
  /** Work of the worker during the measurement, for about this many seconds; it begins first. */
  beside?: (stack: Stack, seconds: number) => Promise<Beside>;
  job: (options: CaseOptions, size: Size, seed: number) => LoadJob | DirectJob;
}

/** Until the compiler has optimised what an event runs, a frontend takes far more CPU than afterwards. */
const WARM_UP = 30_000;

/** One request at a time on every connection, at full speed, events of random users; each case overrides its differences. */
const load =
  (over: (options: CaseOptions, size: Size) => Partial<LoadJob> = () => ({})): Case['job'] =>
  (options, size, seed) => ({
    kind: 'load',
    url: options.stack.url,
    apiKey: options.stack.apiKey,
    requests: 'event',
    connections: options.connections,
    amount: size.amount,
    pace: 'flat out',
    shape: options.shape,
    crowd: { users: options.users },
    keyed: KEYED,
    seed,
    ...over(options, size),
  });

const direct =
  (how: (options: CaseOptions, size: Size) => Pick<DirectJob, 'batch' | 'atOnce'>): Case['job'] =>
  (options, size, seed) => ({
    kind: 'direct',
    redisUrl: options.stack.redisUrl,
    databaseUrl: options.stack.databaseUrl,
    amount: size.amount,
    crowd: { users: options.users },
    seed,
    everyUser: false,
    ...how(options, size),
  });

const frontend = { node: 'frontend', warmUp: WARM_UP } as const;

/** All cases, in the order of a round. */
export const CASES: readonly Case[] = [
  {
    name: 'bare',
    about: 'an HTTP server that reads the body and answers {}',
    node: 'bare',
    warmUp: WARM_UP,
    elsewhere: true,
    job: load(({ stack }) => ({ url: stack.bareUrl })),
  },
  { ...frontend, name: 'event', about: 'events of random users, three in ten with an idempotency key', job: load() },
  {
    name: 'direct',
    about: 'the script without HTTP, as many events per call as `event` had, two calls in flight',
    node: 'direct',
    warmUp: WARM_UP,
    // Like the frontend: two calls in flight, the events between them in the next.
    job: direct((_, { batch }) => ({ batch, atOnce: 2 })),
  },
  {
    name: 'direct single',
    about: 'the script without HTTP, one event per call',
    node: 'direct',
    warmUp: WARM_UP,
    job: direct(({ connections }) => ({ batch: 1, atOnce: connections })),
  },
  {
    ...frontend,
    name: 'event unpersisted',
    about: '`event` while the worker is stopped',
    unpersisted: true,
    job: load(),
  },
  { ...frontend, name: 'event keyed', about: 'every event with an idempotency key', job: load(() => ({ keyed: 1 })) },
  { ...frontend, name: 'event unkeyed', about: 'none with one', job: load(() => ({ keyed: 0 })) },
  {
    ...frontend,
    name: 'hot user',
    about: 'all events of one user',
    job: load(() => ({ crowd: { hotUser: 'hot' } })),
  },
  {
    ...frontend,
    name: 'half load',
    about: '`event` at half of its throughput, on a schedule that does not wait for answers',
    ofCapacity: 0.5,
    job: load((_, { rate }) => ({ pace: { rate } })),
  },
  {
    ...frontend,
    name: 'bursts',
    about:
      'seven events to three reads, the requests of each second within a quarter of it, a quarter of the throughput on average',
    ofCapacity: 0.25,
    job: load((_, { rate }) => ({ requests: 'mix', pace: { burstRate: rate } })),
  },
  {
    name: 'batch',
    about: '1,000 events per request, answered when all are processed',
    node: 'frontend',
    warmUp: 8,
    job: load(({ stack }) => ({ url: stack.adminUrl, requests: 'batch', connections: 4 })),
  },
  { ...frontend, name: 'read metric', about: "a user's total of a metric", job: load(() => ({ requests: 'metric' })) },
  { ...frontend, name: 'read board', about: 'ten places of a leaderboard', job: load(() => ({ requests: 'board' })) },
  {
    ...frontend,
    name: 'read summary',
    about: 'the points of all users in eleven ranges',
    job: load(() => ({ requests: 'summary' })),
  },
  {
    ...frontend,
    name: 'half load alone',
    about: '`half load` again, as the reference for the next one',
    apart: true,
    ofCapacity: 0.5,
    job: load((_, { rate }) => ({ pace: { rate } })),
  },
  {
    ...frontend,
    name: 'half load + sweep',
    about: 'the same while the streaks of many users end at once; CPU is that of both',
    apart: true,
    ofCapacity: 0.5,
    beside: sweepBeside,
    job: load((_, { rate }) => ({ pace: { rate } })),
  },
  {
    ...frontend,
    name: 'event alone',
    about: '`event` again, as the reference for the next one',
    apart: true,
    job: load(),
  },
  {
    ...frontend,
    name: 'event reported',
    about: 'the same while three webhooks want all 18 types, until everything is delivered',
    apart: true,
    webhooks: 3,
    job: load(),
  },
  {
    ...frontend,
    name: 'board of 1,000',
    about: 'events that move a leaderboard of 1,000 more members',
    apart: true,
    job: load(({ shape, stack }) => ({ shape: { ...shape, metrics: { [stack.crowds.small]: 1 } } })),
  },
  {
    ...frontend,
    name: 'board of 1,000,000',
    about: 'events that move a leaderboard of 1,000,000 more members',
    apart: true,
    job: load(({ shape, stack }) => ({ shape: { ...shape, metrics: { [stack.crowds.large]: 1 } } })),
  },
  {
    name: 'plain',
    about: 'Fastify and pg: the same work in one prepared statement per request, ranks kept in a table',
    apart: true,
    node: 'plain',
    warmUp: 200,
    elsewhere: true,
    job: load(({ stack }) => ({ url: stack.plainUrls.ranked })),
  },
  {
    name: 'plain unranked',
    about: '`plain` without the ranks before and after',
    apart: true,
    node: 'unranked',
    warmUp: 1_000,
    elsewhere: true,
    job: load(({ stack }) => ({ url: stack.plainUrls.unranked })),
  },
  {
    name: 'plain batch',
    about: '`batch` to `plain`: 1,000 events a request, copied in, one transaction',
    apart: true,
    node: 'plain',
    warmUp: 4,
    elsewhere: true,
    job: load(({ stack }) => ({ url: stack.plainUrls.ranked, requests: 'batch', connections: 4 })),
  },
];
