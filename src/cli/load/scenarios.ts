import type { Scenario } from './scenario.ts';

const EVENTS = { requests: [{ kind: 'event' }], keyed: 0.3, users: 10_000, rate: 100, duration: '30s' } as const;

function copy(scenario: typeof EVENTS): Scenario {
  return structuredClone(scenario) as unknown as Scenario;
}

/** The scenarios that need no file. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  events: { description: 'single events of random users', ...copy(EVENTS) },
  bursts: {
    description: 'a match ends every 5 seconds: its users all send an event at once',
    ...copy(EVENTS),
    bursts: { every: '5s' },
    connections: 256,
  },
  batches: {
    description: '1,000 events a request, over the Admin API',
    ...copy(EVENTS),
    requests: [{ kind: 'batch', events: 1_000 }],
    rate: 2,
    connections: 4,
  },
  mixed: {
    description: 'events, leaderboards, totals and summaries, with live streams open',
    ...copy(EVENTS),
    requests: [
      { kind: 'event', weight: 70 },
      { kind: 'leaderboard', weight: 15 },
      { kind: 'total', weight: 10 },
      { kind: 'summary', weight: 5 },
    ],
    streams: 20,
  },
  'hot-user': { description: 'all events are of one user', ...copy(EVENTS), users: 1 },
  ramp: {
    description: 'events at a rising rate, to find the highest that Laurel sustains',
    ...copy(EVENTS),
    duration: '10s',
    ramp: { from: 100, factor: 1.5 },
    limits: { p99Ms: 250, errors: 0.01 },
  },
  soak: {
    description: 'an hour of moderate traffic of many users',
    ...copy(EVENTS),
    requests: [
      { kind: 'event', weight: 80 },
      { kind: 'leaderboard', weight: 10 },
      { kind: 'total', weight: 10 },
    ],
    users: 100_000,
    rate: 50,
    duration: '1h',
    streams: 10,
  },
};
