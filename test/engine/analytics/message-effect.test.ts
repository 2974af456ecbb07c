import { hash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { effectOf } from '../../../src/domain/message-effect.ts';
import { setChannel, TEMPLATES } from '../messages/channel.ts';
import { Listening } from '../notifications/listening.ts';
import { opened } from '../../stack/opened.ts';

const SHARE = 0.5;
const USERS = Array.from({ length: 260 }, (_, number) => `user-${number}`);
/** As documented: the first 32 bits of a hash, as a share. */
const isControl = (id: string): boolean =>
  Number(`0x${hash('sha256', `control:${id}`, 'hex').slice(0, 8)}`) / 2 ** 32 < SHARE;
const numberOf = (id: string): number => Number(id.split('-')[1]);

/** When a user returned, in hours after the occasion at 17:00; `null`: not within a week. */
function returnsAfter(id: string): number | null {
  const number = numberOf(id);
  if (isControl(id)) return number % 4 === 0 ? 60 : number % 7 === 0 ? 200 : null;
  return number % 2 === 0 ? 20 : number % 5 === 0 ? 100 : null;
}

/** Wilson's bounds as the solutions of (p̂ − p)² = z² p (1 − p) / n, by bisection. */
function wilson(count: number, of: number): [number, number] {
  const share = count / of;
  const outside = (p: number): boolean => (share - p) ** 2 > (1.959964 ** 2 * p * (1 - p)) / of;
  const bound = (far: number): number => {
    let [inner, outer] = [share, far];
    for (let step = 0; step < 60; step += 1) {
      const middle = (inner + outer) / 2;
      if (outside(middle)) outer = middle;
      else inner = middle;
    }
    return inner;
  };
  return [bound(0), bound(1)];
}

/** The users about whom the webhook got messages. */
let reported: string[];
const listening = opened(() =>
  Listening.start('2030-03-01T09:00', {
    metrics: [{ key: 'flips', name: 'Flips' }],
    achievements: [
      { key: 'one', name: 'One', trigger: 'metric', metricKey: 'flips', metricValue: 1, status: 'active' },
    ],
    messages: { templates: TEMPLATES.filter(({ kind }) => kind === 'achievement_completed' || kind === 'recap') },
  }),
);
beforeAll(async () => {
  const { laurel } = listening;
  await laurel.admin.patch('/v1/organisation', { controlShare: SHARE });
  await setChannel(laurel.pool, { nowMs: Date.parse('2030-03-01T08:00Z') });
  await listening.listen('emails.achievement_due');
  await Promise.all(USERS.map((id) => event(id)));
  // Without an address there is no occasion, in neither group.
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'mute' }, value: 1 });
  await listening.to('2030-03-01T17:00:01');
  reported = (await listening.messages()).map(({ user }) => user ?? '');
  for (const hours of [20, 60, 100, 200]) {
    await listening.to(new Date(Date.parse('2030-03-01T17:00Z') + hours * 3_600_000).toISOString().slice(0, 19));
    await Promise.all(USERS.filter((id) => returnsAfter(id) === hours).map((id) => event(id)));
  }
  await listening.stored();
});

async function event(id: string): Promise<void> {
  const user = { id, email: `${id}@example.com` };
  const { status } = await listening.laurel.app.post('/v1/metrics/flips/event', { user, value: 1 });
  if (status !== 201) throw new Error('An event was refused.');
}

// oxlint-disable-next-line typescript/no-explicit-any -- as the body of an answer
async function read(path: string): Promise<any> {
  const { status, body } = await listening.laurel.admin.get(path);
  expect(status).toBe(200);
  return body;
}

describe('users of the control group', () => {
  test('are in no webhook, and their occasions are in the log', async () => {
    expect(reported.toSorted()).toEqual(USERS.filter((id) => !isControl(id)).toSorted());
    const control = USERS.find(isControl)!;
    const { messages } = await read(`/v1/messages?userId=${control}&kind=achievement_completed`);
    expect(messages).toMatchObject([{ status: 'withheld', at: '2030-03-01T17:00:00.000Z', nextTry: null }]);
    const figures = await read('/v1/analytics/messages?from=2030-03-01&to=2030-03-01');
    expect(figures.messages).toMatchObject([
      {
        kind: 'achievement_completed',
        medium: 'email',
        sent: 0,
        due: USERS.filter((id) => !isControl(id)).length,
        withheld: USERS.filter(isControl).length,
        before: { due: 0, withheld: 0 },
      },
    ]);
  });
});

test('the effect is the difference of the shares of users who returned, with the interval of an independent calculation', async () => {
  const { kinds } = await read('/v1/analytics/messages/effect?from=2030-03-01&to=2030-03-01');
  expect(kinds.map(({ kind }: { kind: string }) => kind)).toEqual(['achievement_completed']);
  const [effect] = kinds;
  const groups = [false, true].map((control) => USERS.filter((id) => isControl(id) === control));
  expect(effect).toMatchObject({
    users: groups[0]!.length,
    controlUsers: groups[1]!.length,
    reached: 0,
    isSampled: false,
  });
  for (const [index, days] of [1, 3, 7].entries()) {
    const [due, control] = groups.map((ids) => {
      const returned = ids.filter((id) => (returnsAfter(id) ?? Infinity) <= days * 24).length;
      return { of: ids.length, returned, share: returned / ids.length, wilson: wilson(returned, ids.length) };
    });
    const difference = due!.share - control!.share;
    const low = difference - Math.hypot(due!.share - due!.wilson[0], control!.wilson[1] - control!.share);
    const high = difference + Math.hypot(due!.wilson[1] - due!.share, control!.share - control!.wilson[0]);
    const found = effect.returned[index];
    expect(found).toMatchObject({
      afterDays: days,
      users: due!.of,
      returned: due!.returned,
      controlUsers: control!.of,
      controlReturned: control!.returned,
    });
    expect([found.difference, found.low, found.high].map((each) => each.toFixed(6))).toEqual(
      [difference, low, high].map((each) => each.toFixed(6)),
    );
    expect(found.verdict).toBe(low > 0 ? 'more' : 'unclear');
  }
  expect(effect.returned[0].verdict).toBe('more');
});

test('users for whom the days are not over do not count yet', async () => {
  // Recaps of the week were due on Monday, 2030-03-04 at 09:00; it is 2030-03-10 01:00.
  const { kinds } = await read('/v1/analytics/messages/effect?from=2030-03-04&to=2030-03-04');
  const [recap] = kinds;
  expect(recap.kind).toBe('recap');
  expect(recap.users + recap.controlUsers).toBe(USERS.length);
  expect(recap.returned.map(({ users }: { users: number }) => users > 0)).toEqual([true, true, false]);
  expect(recap.returned[2]).toMatchObject({ difference: null, verdict: 'too_few' });
});

test('the conclusion says when the numbers are too small', () => {
  expect(effectOf({ users: 400, returned: 100 }, { users: 12, returned: 1 })).toMatchObject({
    verdict: 'too_few',
    conclusion: 'The numbers are too small to compare: the control group has 12 users so far, and 50 are needed.',
  });
  expect(effectOf({ users: 100, returned: 31 }, { users: 100, returned: 30 }).conclusion).toMatch(
    /^The difference of \+1\.0 percentage points may be chance \(95 % confidence interval −11\.\d to \+13\.\d\): the numbers are too small/,
  );
  expect(effectOf({ users: 1_000, returned: 300 }, { users: 1_000, returned: 400 })).toMatchObject({
    verdict: 'fewer',
    conclusion: expect.stringMatching(/^Users with the message returned less often, by 10\.0 percentage points/),
  });
});
