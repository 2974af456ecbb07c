// Events and reads against Laurel with k6 (https://k6.io), at a fixed rate of arrivals.
//   k6 run -e API_URL=http://localhost:8080 -e LAUREL_KEY=… -e METRIC=lessons examples/k6/events.js
import { check } from 'k6';
import { uuidv4 } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
import http from 'k6/http';

const {
  API_URL = 'http://localhost:8080',
  ADMIN_API_KEY,
  LAUREL_KEY = ADMIN_API_KEY,
  METRIC,
  RATE = '50',
  USERS = '1000',
} = __ENV;
if (!LAUREL_KEY || !METRIC) throw new Error('LAUREL_KEY and METRIC are required.');

export const options = {
  scenarios: {
    events: {
      // Open loop: a slow answer does not delay the next request.
      executor: 'constant-arrival-rate',
      rate: Number(RATE),
      timeUnit: '1s',
      duration: '30s',
      preAllocatedVUs: 64,
      maxVUs: 512,
    },
  },
  thresholds: {
    http_req_failed: ['rate<0.01'],
    http_req_duration: ['p(99)<250'],
    // Iterations that k6 could not start in time: it was the limit, or Laurel was far too slow.
    dropped_iterations: ['count==0'],
  },
};

const headers = { 'X-API-KEY': LAUREL_KEY, 'Content-Type': 'application/json' };

export default function sendEvent() {
  const user = `k6-${Math.floor(Math.random() * Number(USERS))}`;
  const body = JSON.stringify({ user: { id: user }, value: 1 + Math.floor(Math.random() * 20) });
  // The key makes it safe to repeat a request that was not answered.
  const event = http.post(`${API_URL}/v1/metrics/${METRIC}/event`, body, {
    headers: { ...headers, 'Idempotency-Key': uuidv4() },
    tags: { name: 'event' },
  });
  check(event, { 'the event is recorded': ({ status }) => status === 201 });
  if (Math.random() < 0.3) {
    const total = http.get(`${API_URL}/v1/users/${user}/metrics/${METRIC}`, { headers, tags: { name: 'total' } });
    check(total, { 'the total is readable': ({ status }) => status === 200 });
  }
}
