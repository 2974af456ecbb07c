// The app's own server. It has the admin key: it signs users in, makes their keys, and sells the shop's items, because a page could
// send any price.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import process from 'node:process';
import { createLaurel, LaurelError } from 'laurel-client';

const { LAUREL_KEY, PORT = '3000' } = process.env;
const LAUREL_URL = process.env.LAUREL_URL ?? 'http://localhost:8080';
const LAUREL_ADMIN_URL = process.env.LAUREL_ADMIN_URL ?? 'http://localhost:8081';
const laurel = createLaurel({ url: LAUREL_URL, adminUrl: LAUREL_ADMIN_URL, key: LAUREL_KEY });

/** Each can be bought once. */
const ITEMS = [
  { id: 'bookmark', name: 'Silver bookmark', price: 10 },
  { id: 'lamp', name: 'Reading lamp', price: 40 },
  { id: 'owl', name: 'Study owl', price: 150 },
];

/** User IDs by session. Instead of your own sign-in: here, a name is enough. */
const sessions = new Map();

async function signIn({ name, tz }, response) {
  const userId = name.trim().toLowerCase().slice(0, 50);
  if (userId === '') return undefined;
  await laurel.user(userId).identify({ name: name.trim().slice(0, 50), tz });
  const session = randomUUID();
  sessions.set(session, userId);
  response.setHeader('Set-Cookie', `session=${session}; HttpOnly; SameSite=Strict; Path=/`);
  return { userId, laurelUrl: LAUREL_URL };
}

async function makeKey(userId) {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  return { key: (await laurel.createKey(userId, { expiresAt })).key };
}

/** The items, and whether the user has them: a spending names the item that it was for. */
async function shop(userId) {
  const query = { pointsSystem: 'xp', limit: 100 };
  const path = `/users/${encodeURIComponent(userId)}/spendings`;
  const { spendings } = await laurel.send({ method: 'GET', path, query, admin: true });
  const owned = new Set(spendings.filter(({ status }) => status === 'spent').map(({ reference }) => reference));
  return ITEMS.map((item) => ({ ...item, isOwned: owned.has(item.id) }));
}

async function buy(userId, { id }) {
  const item = ITEMS.find((one) => one.id === id);
  if (item === undefined) return undefined;
  // The same key for each attempt: a second click, or a repetition after a broken connection, costs nothing.
  const idempotencyKey = `shop-${item.id}`;
  const points = laurel.user(userId).points('xp');
  await points.spend(item.price, { idempotencyKey, reference: item.id, reason: item.name });
  return shop(userId);
}

async function bodyOf(request) {
  let text = '';
  for await (const chunk of request) if ((text += chunk).length > 10_000) throw new SyntaxError('too long');
  return JSON.parse(text);
}

/** The answer to a call of the page; undefined if there is none. */
async function answer(request, response) {
  const session = /(?:^|; )session=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1];
  const userId = sessions.get(session);
  const call = `${request.method} ${request.url}`;
  if (call === 'POST /api/session') return signIn(await bodyOf(request), response);
  if (call === 'GET /api/session') return userId === undefined ? null : { userId, laurelUrl: LAUREL_URL };
  if (userId === undefined) return undefined;
  if (call === 'DELETE /api/session') return { isSignedOut: sessions.delete(session) };
  if (call === 'POST /api/key') return makeKey(userId);
  if (call === 'GET /api/shop') return shop(userId);
  if (call === 'POST /api/shop') return buy(userId, await bodyOf(request));
  return undefined;
}

const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css' };

/** The page, or a file that `vite build` made for it. */
async function file(url, response) {
  const name = /^\/assets\/[\w.-]+$/.test(url) ? url : '/index.html';
  const content = await readFile(join(import.meta.dirname, 'dist', name));
  response.setHeader('Content-Type', TYPES[extname(name)] ?? 'application/octet-stream').end(content);
}

async function handle(request, response) {
  try {
    if (!request.url.startsWith('/api/')) return await file(request.url, response);
    const body = await answer(request, response);
    if (body === undefined) response.statusCode = 404;
    const text = JSON.stringify(body === undefined ? { code: 'not_found' } : body);
    response.setHeader('Content-Type', 'application/json').end(text);
  } catch (error) {
    const isExpected = error instanceof LaurelError && error.status >= 400 && error.status < 500;
    if (!isExpected) console.error(error);
    response.statusCode = isExpected ? error.status : 500;
    response.end(JSON.stringify({ code: isExpected ? error.code : 'internal' }));
  }
}

// Only this machine: everybody who reaches the page can sign in under any name.
const server = createServer((request, response) => void handle(request, response));
server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://localhost:${server.address().port}`));
