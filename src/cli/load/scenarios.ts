const EVENTS = { requests: [{ kind: 'event' }], keyed: 0.3, users: 10_000, rate: 100, duration: '30s' } as const;

/** A scenario as a file would contain it, which is not checked yet. */
interface UncheckedScenario {
  description: string;
  [field: string]: unknown;
}

/** The scenarios that need no file. */
export const SCENARIOS: Readonly<Record<string, UncheckedScenario>> = {
  events: { description: 'single events of random users', ...EVENTS },
  bursts: {
    description: 'a match ends every 5 seconds: its users all send an event at once',
    ...EVENTS,
    bursts: { every: '5s' },
    connections: 256,
  },
  batches: {
    description: '1,000 events a request, over the Admin API',
    ...EVENTS,
    requests: [{ kind: 'batch', events: 1_000 }],
    rate: 2,
    connections: 4,
  },
  mixed: {
    description: 'events, leaderboards, totals and summaries, with live streams open',
    ...EVENTS,
    requests: [
      { kind: 'event', weight: 70 },
      { kind: 'leaderboard', weight: 15 },
      { kind: 'total', weight: 10 },
      { kind: 'summary', weight: 5 },
    ],
    streams: 20,
  },
  'hot-user': { description: 'all events are of one user', ...EVENTS, users: 1 },
  ramp: {
    description: 'events at a rising rate, to find the highest that Laurel sustains',
    ...EVENTS,
    duration: '10s',
    ramp: { from: 100, factor: 1.5 },
    limits: { p99Ms: 250, errors: 0.01 },
  },
  soak: {
    description: 'an hour of moderate traffic of many users',
    ...EVENTS,
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
