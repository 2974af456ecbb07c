// The process of an attacker: sends one request again and again until the test ends it. Reads the answers without parsing them.
import { Agent, request } from 'node:http';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

// An attacker uses another machine; here, what the processes of the server and the victim leave.
setPriority(constants.priority.PRIORITY_LOW);

let sent = 0;

/** Resolves also if the request fails. */
function send({ url, method, headers, body, isKeyed }, agent) {
  sent += 1;
  const all = isKeyed ? { ...headers, 'Idempotency-Key': `attack ${process.pid} ${sent}` } : headers;
  return new Promise((resolve) => {
    const asked = request(url, { method, agent, headers: all }, (answer) => {
      answer.resume();
      answer.on('close', resolve);
    });
    asked.on('error', resolve);
    asked.end(body ?? undefined);
  });
}

async function evenly(sending, agent, ended) {
  const under = new Set();
  while (!ended.aborted) {
    const one = send(sending, agent).then(() => under.delete(one));
    under.add(one);
    await sleep(1_000 / sending.perSecond);
  }
  await Promise.all(under);
}

async function severalAtOnce(sending, agent, ended) {
  const loop = async () => {
    while (!ended.aborted) await send(sending, agent);
  };
  await Promise.all(Array.from({ length: sending.atOnce }, loop));
}

let ending = new AbortController();
let attacking = Promise.resolve();

process.on('message', (message) => {
  if (message === 'end') {
    ending.abort();
    void attacking.then(() => process.send('ended'));
    return;
  }
  ending = new AbortController();
  const agent = new Agent({ keepAlive: true });
  const send = message.perSecond === undefined ? severalAtOnce : evenly;
  attacking = send(message, agent, ending.signal).then(() => agent.destroy());
});
process.on('disconnect', () => {
  process.exit(0);
});
