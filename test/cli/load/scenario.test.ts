import { expect, test } from 'vitest';
import { checkedScenario, readScenario } from '../../../src/cli/load/scenario.ts';
import { SCENARIOS } from '../../../src/cli/load/scenarios.ts';

test.each(Object.keys(SCENARIOS))('the scenario %s passes its own check', (name) => {
  expect(checkedScenario(JSON.parse(JSON.stringify(readScenario(name))), 'file.json')).toEqual(SCENARIOS[name]);
});

const EVENT = { requests: [{ kind: 'event' }] };
test.each([
  [{}, 'file.json: requests is required.'],
  [[], 'file.json: The scenario must be an object.'],
  [{ requests: [] }, 'file.json: requests must have at least 1 item.'],
  [{ requests: [{ weight: 1 }] }, 'file.json: requests[0].kind is required.'],
  [
    { requests: [{ kind: 'events' }] },
    'file.json: requests[0].kind must be one of: event, batch, total, leaderboard, summary.',
  ],
  [{ requests: [{ kind: 'event', weight: 0 }] }, 'file.json: requests[0].weight must be greater than 0.'],
  [
    { requests: [{ kind: 'event', wieght: 2 }] },
    'file.json: requests[0].wieght is not a known field (did you mean weight?).',
  ],
  [{ ...EVENT, conections: 4 }, 'file.json: conections is not a known field (did you mean connections?).'],
  [{ ...EVENT, duration: '30' }, 'file.json: duration must be a duration like 500ms, 30s, 5m or 1h.'],
  [{ ...EVENT, bursts: { every: 'often' } }, 'file.json: bursts.every must be a duration like 500ms, 30s, 5m or 1h.'],
  [{ ...EVENT, keyed: 2 }, 'file.json: keyed must be at most 1.'],
  [{ ...EVENT, users: 0 }, 'file.json: users must be at least 1.'],
  [{ ...EVENT, metrics: { flips: -1 } }, 'file.json: metrics.flips must be greater than 0.'],
  [{ ...EVENT, values: { min: 5, max: 1 } }, 'file.json: values.max must be at least values.min.'],
  [{ ...EVENT, rate: '5s:1,1s:1' }, 'file.json: rate: the times of "5s:1,1s:1" must ascend.'],
  [{ ...EVENT, ramp: { from: 10 } }, 'file.json: ramp needs limits: the p99Ms or the share of errors that ends it.'],
  [{ ...EVENT, users: 1, streams: 101 }, 'file.json: streams must be at most 100 for each of the users.'],
])('%j is refused with the field', (scenario, message) => {
  expect(() => checkedScenario(scenario, 'file.json')).toThrow(message);
});

test('a name that is neither a scenario nor a file', () => {
  expect(() => readScenario('brusts')).toThrow(/"brusts" is no scenario, .* Did you mean bursts\?/);
});
