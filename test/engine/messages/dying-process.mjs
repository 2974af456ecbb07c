/** Sends due e-mails, reports a step to its parent, and stops there to be killed. Uses the build. */
import { sendDueMessages } from '../../../dist/src/engine/messages/message-queue.js';
import { createSmtpSender } from '../../../dist/src/engine/messages/smtp-sender.js';
import { createPool } from '../../../dist/src/postgres/pool.js';

const { DATABASE, PORT, STEP, NOW } = process.env;
const channel = {
  host: '127.0.0.1',
  port: Number(PORT),
  security: 'none',
  username: null,
  password: null,
  replyTo: null,
};
const sender = createSmtpSender(
  { ...channel, senderAddress: 'hello@example.org', senderName: null },
  { allowPrivate: true },
);
const email = { to: 'ada@example.org', subject: 'Your week', text: 'Hello', html: '<p>Hello</p>' };

await sendDueMessages({
  pool: createPool(DATABASE, { max: 2 }),
  tenantNo: 0,
  medium: 'email',
  now: () => Number(NOW),
  prepare: async ({ id }) => ({
    message: { ...email, id, unsubscribeUrl: 'https://example.org/u' },
    localDay: 1,
    mostPerDay: 10,
  }),
  send: (one) => sender.send(one),
  pacing: { next: async () => true, run: (attempt) => attempt() },
  onStep: (step) => {
    if (step !== STEP) return undefined;
    process.send(step);
    return new Promise(() => undefined);
  },
});
