import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Accepted,
  type Closed,
  type ClosedReason,
  type Inspecting,
  lastAccepted,
  nextState,
  NOT_INSPECTED,
  type ShardEffect,
  type ShardEvent,
  type ShardState,
} from '../../src/domain/shard-state.ts';

const ACCEPTED: Accepted = { storageEpoch: '7/process.history', mark: 'laurel:7:1' };
const NEXT: Accepted = { storageEpoch: '8/process.history', mark: 'laurel:8:1' };
const NOW_MS = 1_000;

const never = { last: null, retryAtMs: -Infinity } as const;
const closed = (reason: ClosedReason, more: Partial<Closed> = {}): Closed => ({
  name: 'closed',
  reason,
  last: ACCEPTED,
  retryAtMs: -Infinity,
  ...more,
});
const inspecting = (reason: ClosedReason): Inspecting => ({
  name: 'inspecting',
  reason,
  last: ACCEPTED,
  attempt: 3,
});

/** The states of the table. */
const STATES = {
  'not inspected': NOT_INSPECTED,
  lost: closed('connection lost'),
  moved: closed('moved'),
  'moved key by key': closed('moved key by key'),
  contradicted: closed('contradiction'),
  waiting: closed('changed', { retryAtMs: NOW_MS + 1 }),
  inspecting: inspecting('connection lost'),
  'inspecting a contradiction': inspecting('contradiction'),
  rebuilding: { ...inspecting('changed'), name: 'rebuilding' },
  open: { name: 'open', accepted: ACCEPTED },
} as const satisfies Record<string, ShardState>;

const seen = (sight: object = {}, asOf: Accepted | null = ACCEPTED): ShardEvent => ({
  type: 'seen',
  sight: { redisProcessId: 'process.history', mark: ACCEPTED.mark, storageEpoch: ACCEPTED.storageEpoch, ...sight },
  asOf,
  nowMs: NOW_MS,
});

/** The events of the table. */
const EVENTS = {
  disconnected: { type: 'disconnected' },
  redirected: { type: 'redirected' },
  refused: { type: 'refused' },
  contradicted: { type: 'contradicted' },
  'contradicted, retry later': { type: 'contradicted', retryAtMs: 5_000 },
  'redirected key by key': { type: 'redirected', keyByKey: true },
  'seen as accepted': seen(),
  'seen, mark and Postgres not read': seen({ mark: undefined, storageEpoch: undefined }),
  'seen in another process': seen({ redisProcessId: 'other.history' }),
  'seen with another history': seen({ redisProcessId: 'process.other' }),
  'seen without a mark': seen({ mark: null }),
  'seen with another storage epoch': seen({ storageEpoch: 'rebuild 8' }),
  'seen before it was opened': seen({ mark: null }, null),
  'inspection began': { type: 'inspection began', attempt: 4 },
  'rebuild began': { type: 'rebuild began', attempt: 3 },
  accepted: { type: 'accepted', attempt: 3, accepted: NEXT },
  'accepted by an earlier inspection': { type: 'accepted', attempt: 2, accepted: NEXT },
  'left out': { type: 'inspection ended', attempt: 3 },
  'left out, retry later': { type: 'inspection ended', attempt: 3, reason: 'other version', retryAtMs: 5_000 },
  'left out by an earlier inspection': { type: 'inspection ended', attempt: 2 },
  'placed here': { type: 'placed here', last: ACCEPTED },
  'placed elsewhere': { type: 'placed elsewhere' },
} as const satisfies Record<string, ShardEvent>;

type StateName = keyof typeof STATES;
type EventName = keyof typeof EVENTS;
type Row = [state: StateName, event: EventName, next: ShardState, ...effects: ShardEffect[]];

const reopened: ShardState = STATES.open;
const accepted: ShardState = { name: 'open', accepted: NEXT };

const TABLE: Row[] = [
  ['not inspected', 'disconnected', closed('connection lost', never)],
  ['not inspected', 'contradicted', closed('contradiction', never)],
  ['not inspected', 'seen as accepted', STATES['not inspected'], 'inspect'],
  ['not inspected', 'inspection began', { ...inspecting('not inspected'), last: null, attempt: 4 }],

  ['lost', 'redirected', closed('served elsewhere')],
  ['lost', 'contradicted', closed('contradiction')],
  ['lost', 'contradicted, retry later', closed('contradiction', { retryAtMs: 5_000 })],
  ['lost', 'seen as accepted', reopened, 'announce'],
  ['lost', 'seen, mark and Postgres not read', reopened, 'announce'],
  ['lost', 'seen in another process', STATES.lost, 'inspect'],
  ['lost', 'seen with another history', STATES.lost, 'inspect'],
  ['lost', 'seen without a mark', STATES.lost, 'inspect'],
  ['lost', 'seen with another storage epoch', STATES.lost, 'inspect'],
  ['lost', 'inspection began', { ...inspecting('connection lost'), attempt: 4 }],

  // Only an inspection resolves a contradiction.
  ['contradicted', 'disconnected', STATES.contradicted],
  ['contradicted', 'redirected', STATES.contradicted],
  ['contradicted', 'contradicted, retry later', closed('contradiction', { retryAtMs: 5_000 })],
  ['contradicted', 'seen as accepted', STATES.contradicted, 'inspect'],
  ['contradicted', 'inspection began', { ...inspecting('contradiction'), attempt: 4 }],

  // State accepted on another node says nothing about this one, and keys may be missing after an interrupted move key by
  // key.
  ['moved', 'disconnected', STATES.moved],
  ['moved', 'redirected', STATES.moved],
  ['moved', 'redirected key by key', STATES['moved key by key']],
  ['moved', 'contradicted', closed('contradiction')],
  ['moved', 'seen as accepted', STATES.moved, 'inspect'],
  ['moved key by key', 'redirected', STATES['moved key by key']],
  ['moved key by key', 'seen as accepted', STATES['moved key by key'], 'inspect'],

  ['waiting', 'disconnected', closed('connection lost', { retryAtMs: NOW_MS + 1 })],
  ['waiting', 'seen as accepted', reopened, 'announce'],
  ['waiting', 'seen, mark and Postgres not read', reopened, 'announce'],
  ['waiting', 'seen without a mark', STATES.waiting],

  ['inspecting', 'disconnected', closed('connection lost')],
  ['inspecting', 'redirected', closed('served elsewhere')],
  ['inspecting', 'contradicted', closed('contradiction')],
  ['inspecting', 'rebuild began', { ...inspecting('connection lost'), name: 'rebuilding' }],
  ['inspecting', 'accepted', accepted, 'announce'],
  ['inspecting', 'left out', closed('connection lost')],
  ['inspecting', 'left out, retry later', closed('other version', { retryAtMs: 5_000 })],
  ['inspecting a contradiction', 'disconnected', closed('contradiction')],
  ['inspecting a contradiction', 'accepted', accepted, 'announce'],
  ['inspecting a contradiction', 'left out, retry later', closed('contradiction', { retryAtMs: 5_000 })],

  ['rebuilding', 'disconnected', closed('connection lost')],
  ['rebuilding', 'contradicted', closed('contradiction')],
  ['rebuilding', 'accepted', accepted, 'announce'],
  ['rebuilding', 'left out', closed('changed')],

  ['open', 'disconnected', closed('connection lost'), 'announce'],
  ['open', 'redirected', closed('served elsewhere'), 'announce'],
  ['open', 'redirected key by key', closed('moved key by key'), 'announce'],
  ['open', 'refused', closed('changed'), 'announce'],
  ['open', 'contradicted', closed('contradiction'), 'announce'],
  ['open', 'contradicted, retry later', closed('contradiction', { retryAtMs: 5_000 }), 'announce'],
  ['open', 'seen in another process', closed('changed'), 'announce', 'inspect'],
  ['open', 'seen with another history', closed('changed'), 'announce', 'inspect'],
  ['open', 'seen without a mark', closed('changed'), 'announce', 'inspect'],
  ['open', 'seen with another storage epoch', closed('changed'), 'announce', 'inspect'],

  ...(Object.keys(STATES) as StateName[]).flatMap((state): Row[] => [
    [state, 'placed here', closed('moved'), 'announce'],
    [state, 'placed elsewhere', closed('served elsewhere', never), 'announce'],
  ]),
];

const inTable = new Set(TABLE.map(([state, event]) => `${state} ${event}`));

test.each(TABLE)('%s, then %s', (state, event, next, ...effects) => {
  expect(nextState(STATES[state], EVENTS[event])).toEqual({ state: next, effects });
});

test('no other event opens or closes a shard, or changes an open one', () => {
  for (const [name, before] of Object.entries<ShardState>(STATES)) {
    for (const [event, sent] of Object.entries<ShardEvent>(EVENTS)) {
      if (inTable.has(`${name} ${event}`)) continue;
      const { state, effects } = nextState(before, sent);
      expect([name, event, state.name === 'open']).toEqual([name, event, before.name === 'open']);
      if (before.name === 'open') expect(state).toBe(before);
      expect(effects).not.toContain('announce');
    }
  }
});

const anyEvent = fc.constantFrom(...(Object.values(EVENTS) as ShardEvent[]));

test('after any events: one announcement for each opening and closing; only an inspection resolves a contradiction', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...(Object.values(STATES) as ShardState[])),
      fc.array(anyEvent, { maxLength: 20 }),
      (first, events) => {
        let state = first;
        for (const event of events) {
          const before = state;
          const step = nextState(before, event);
          state = step.state;
          const isPlaced = event.type === 'placed here' || event.type === 'placed elsewhere';
          const isTurned = (before.name === 'open') !== (state.name === 'open');
          if (!isPlaced) expect(step.effects.includes('announce')).toBe(isTurned);
          if (state.name === 'open' && before.name !== 'open') {
            const isInspected =
              event.type === 'accepted' && before.name !== 'closed' && before.attempt === event.attempt;
            const isUnchanged = event.type === 'seen' && before.name === 'closed' && before.reason !== 'contradiction';
            expect(isInspected || isUnchanged).toBe(true);
          }
          // The last accepted state stays known when a shard closes, so that losses can be named.
          if (!isPlaced && lastAccepted(before) !== null) expect(lastAccepted(state)).not.toBeNull();
        }
      },
    ),
  );
});
