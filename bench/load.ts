import autocannon from 'autocannon';
import { outcomeOf, type LoadJob, type Outcome } from './jobs.ts';
import { RequestMaker } from './requests.ts';
import { onSchedule } from './schedule.ts';

/**
 * A separate process that makes HTTP load, so that its CPU is not the frontend's: receives a `LoadJob` from its parent,
 * answers with the `Outcome`. It makes all requests before it sends the first.
 */
process.on('message', (job: LoadJob) => {
  void (job.pace === 'flat out' ? asFastAsAnswered(job) : onSchedule(job, job.pace)).then((outcome) =>
    process.send?.(outcome),
  );
});
process.once('disconnect', () => process.exit(0));

/** autocannon, an exact number of requests, so that every event sent is also answered and can be counted. */
function asFastAsAnswered(job: LoadJob): Promise<Outcome> {
  const { connections, amount } = job;
  const maker = new RequestMaker(job);
  const latencies = new Float64Array(amount);
  const statuses: Record<string, number> = {};
  let eventsARequest = 0;
  let doneStatus = 0;
  let answered = 0;
  let startedMs = 0;
  let lastMs = 0;
  return new Promise((resolve, reject) => {
    const setupClient = (client: autocannon.Client): void => {
      const requests = Array.from({ length: Math.ceil(amount / connections) }, () => {
        const { method, path, headers, body, events, done } = maker.next();
        eventsARequest = events;
        doneStatus = done;
        return { method, path, headers, ...(body !== '' && { body }) };
      });
      client.setRequests(requests);
      // Called once per client, so the last call sets the start: just before the first answers.
      startedMs = performance.now();
    };
    const options = { url: job.url, connections, pipelining: 1, amount, sampleInt: 100, timeout: 60, setupClient };
    const run = autocannon(options, (error) => {
      if (error) return reject(error as Error);
      const processed = (statuses[doneStatus] ?? 0) * eventsARequest;
      const seconds = (lastMs - startedMs) / 1000;
      resolve(outcomeOf({ seconds, statuses, processed, latencies: latencies.subarray(0, answered) }));
    });
    run.on('response', (_client, status, _bytes, ms) => {
      lastMs = performance.now();
      statuses[status] = (statuses[status] ?? 0) + 1;
      latencies[answered++] = ms;
    });
  });
}
