import { once } from 'node:events';
import { WebSocket } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';

/** About one in 1,000 was closed at once when a stream began within its upgrade. */
const OPENED = 1_500;
const AT_ONCE = 20;

let laurel: TestLaurel;

beforeAll(async () => {
  laurel = await startLaurel({ configuration: STUDY_APP });
});
afterAll(() => laurel.close());

/** The type of the first message of a WebSocket; null: it was closed without any. */
async function firstMessage(): Promise<string | null> {
  const { body } = await laurel.app.post('/v1/live/tickets', {});
  const socket = new WebSocket(`${laurel.appUrl.replace('http', 'ws')}/v1/live/ws?ticket=${body.ticket as string}`);
  const first = await Promise.race([
    once(socket as never, 'message').then(([{ data }]) => (JSON.parse(String(data)) as { type: string }).type),
    once(socket as never, 'close').then(() => null),
  ]);
  socket.close();
  return first;
}

test('every WebSocket that is opened stays open and says so', async () => {
  const seen: (string | null)[] = [];
  while (seen.length < OPENED) seen.push(...(await Promise.all(Array.from({ length: AT_ONCE }, firstMessage))));
  expect(seen).toEqual(seen.map(() => 'ready'));
});
