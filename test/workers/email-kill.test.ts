import { afterAll, expect, test } from 'vitest';
import type { PublishStep } from '../../src/engine/notifications/due/publisher.ts';
import { type LoggedMessage, emailRows, setChannel, TEMPLATES } from '../engine/messages/channel.ts';
import { startLaurel } from '../laurel.ts';
import { DyingWorkers } from './dying-workers.ts';
import { exitOf } from '../stack/child-process.ts';
import { opened } from '../stack/opened.ts';

const STEPS: PublishStep[] = ['made', 'inserted', 'published'];
const USERS = 30;
const iso = (day: number, time: string): string => `2030-03-${String(day).padStart(2, '0')}T${time}:00Z`;

const workers = new DyingWorkers();

const laurel = opened(() => startLaurel({ testClock: true }));
afterAll(async () => {
  workers.close();
});

const to = async (time: string): Promise<void> => {
  const { status, body } = await laurel.admin.put('/v1/clock', { now: time });
  if (status !== 200) throw new Error(JSON.stringify(body));
};

test('a worker that is killed while e-mails fall due leaves each of them once', async () => {
  let worker = await workers.startByTestClock(laurel);
  await to(iso(1, '09:00'));
  await setChannel(laurel.pool, { nowMs: Date.parse(iso(1, '09:00')) });
  const configured = await laurel.admin.put('/v1/configuration', {
    metrics: [{ key: 'flips', name: 'Flips' }],
    streaks: { frequency: 'daily' },
    messages: { templates: TEMPLATES },
  });
  expect(configured.status).toBe(200);

  const expected: LoggedMessage[] = [];
  const users = Array.from({ length: USERS }, (_, n) => `u${String(n).padStart(2, '0')}`);
  const add = (at: string, kind: LoggedMessage['kind']): void =>
    void expected.push(...users.map((user) => ({ at: at.slice(0, 16), kind, user })));
  for (const [round, step] of STEPS.entries()) {
    // An event a week, on Sunday: a reminder of the streak falls due on Monday evening, the recap on Monday morning.
    const sunday = 3 + 7 * round;
    await to(iso(sunday, '09:00'));
    const events = users.map((id) => ({ key: 'flips', user: { id, email: `${id}@example.com` }, value: 1 }));
    const { status } = await laurel.admin.post('/v1/metrics/events', events);
    expect(status).toBe(202);
    await expect.poll(async () => (await laurel.pool.query('SELECT FROM events')).rowCount).toBe(USERS * (round + 1));
    for (const [time, kind] of [
      ['09:00', 'recap'],
      ['20:00', 'streak_reminder'],
    ] as const) {
      const at = iso(sunday + 1, time);
      await workers.dieAt(worker, step, 1);
      const moving = to(at);
      expect(await exitOf(worker)).toEqual([null, 'SIGKILL']);
      worker = await workers.startByTestClock(laurel);
      await moving;
      add(at, kind);
      expect(await emailRows(laurel.pool)).toEqual(expected);
    }
    for (const days of [3, 5]) add(iso(sunday + days, '10:00'), 'reactivation');
  }
});
