/** Where a channel sends, as it is set: a mail server or a provider's URL, with the encrypted secrets. */
import { mailServerProblem, targetProblem } from '../../catalog/rules/webhook.ts';
import { bodyProblem, headerProblem, type SentHttpProvider } from '../../domain/notifications/http-provider.ts';
import { CHANNEL_DEFAULTS, type SentMessageChannel } from '../../domain/notifications/message-channel.ts';
import { AppError } from '../../errors.ts';
import type { ChannelRow, NewChannel } from '../../postgres/notifications/message-channels.ts';
import { secretsOf } from './channel-sender.ts';
import { type Sealer, withoutKey } from './sealed-secrets.ts';
import { sealedPassword } from './smtp-channel.ts';

export type Target = Pick<NewChannel, 'host' | 'port' | 'security' | 'username' | 'http'>;

const refused = (text: string): AppError => new AppError('unprocessable', text);

/** Where a channel sends, without its secrets. Throws 422 for what may not be used. */
export function targetOf(sent: SentMessageChannel, allowPrivate: boolean): Target {
  const { transport = 'smtp', http = null } = sent;
  if ((transport === 'http') !== (http !== null)) throw refused('http is required with transport http, and only then');
  return http === null ? smtpTarget(sent, allowPrivate) : httpTarget(sent, http, allowPrivate);
}

function smtpTarget(sent: SentMessageChannel, privateTargets: boolean): Target {
  const { host, port, security, username = CHANNEL_DEFAULTS.username } = sent;
  if (host === undefined || port === undefined || security === undefined)
    throw refused(
      `${host === undefined ? 'host' : port === undefined ? 'port' : 'security'} is required with transport smtp`,
    );
  const wrong = mailServerProblem(host, port, privateTargets);
  if (wrong !== null) throw refused(`${wrong.field} ${wrong.text}`);
  return { host, port, security, username, http: null };
}

const HTTPS_PORT = 443;
const HTTP_PORT = 80;

function httpTarget(sent: SentMessageChannel, provider: SentHttpProvider, privateTargets: boolean): Target {
  const { url: text, headers = {}, secretHeaders = {}, body, answers = [] } = provider;
  if (!URL.canParse(text)) throw refused('http.url must be a URL');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw refused('http.url must not contain a user name or password: use http.secretHeaders');
  if (url.protocol !== 'https:' && !privateTargets) throw refused('http.url must begin with https://');
  const wrong = targetProblem(url, privateTargets);
  if (wrong !== null) throw refused(`http.url ${wrong}`);
  const wrongHeader = headerProblem(provider);
  if (wrongHeader !== null) throw refused(wrongHeader);
  const wrongBody = bodyProblem(body);
  if (wrongBody !== null) throw refused(`http.body ${wrongBody}`);
  const incomplete = answers.findIndex(({ field = null, values = [] }) => (field === null) !== (values.length === 0));
  if (incomplete >= 0) throw refused(`http.answers[${incomplete}] must have field and values, or neither`);
  const isTls = url.protocol === 'https:';
  const target = {
    host: url.hostname,
    port: Number(url.port) || (isTls ? HTTPS_PORT : HTTP_PORT),
    security: isTls ? 'tls' : 'none',
    username: null,
  } as const;
  for (const [name, value] of Object.entries(target)) {
    const sentValue = sent[name as keyof typeof target];
    if (sentValue !== undefined && sentValue !== value)
      throw refused(`${name} must be omitted with transport http: http.url has it`);
  }
  if (sent.password !== undefined && sent.password !== null)
    throw refused('password must be omitted with transport http: use http.secretHeaders');
  return { ...target, http: { url: text, headers, secretHeaders: Object.keys(secretHeaders), body, answers } };
}

interface Secrets {
  tenantNo: number;
  sealer: Sealer | null;
  before: ChannelRow | null;
}

/** The encrypted secrets that a channel has from now on. Throws 422, and 409 without a key. */
export const secretsFor = (target: Target, sent: SentMessageChannel, secrets: Secrets): Buffer | null =>
  target.http === null
    ? passwordFor(target, sent.password, secrets)
    : headersFor(target, sent.http!.secretHeaders, secrets);

/** An omitted password stays, but only for the same server and login, so that it cannot be sent to another server. */
function passwordFor(
  { username, host, port, security }: Target,
  password: string | null | undefined,
  { tenantNo, sealer, before }: Secrets,
): Buffer | null {
  if (username === null) {
    if (password !== undefined && password !== null) throw refused('username is required with password');
    return null;
  }
  if (security === 'none')
    throw refused('security must not be none with username: the password would be sent unencrypted');
  if (password !== undefined && password !== null) {
    if (sealer === null) throw withoutKey();
    return sealedPassword(sealer, tenantNo, password);
  }
  if (password === null || before === null || before.http !== null || before.password === null)
    throw refused('password is required with username');
  const isSame =
    before.host === host && before.port === port && before.security === security && before.username === username;
  if (isSame) return before.password;
  throw refused('password is required again, because host, port, security or username changes');
}

/** Secret headers without a value stay, but only for the same URL. `target` gets the names of all of them if none are sent. */
function headersFor(
  target: Target,
  sent: SentHttpProvider['secretHeaders'],
  { tenantNo, sealer, before }: Secrets,
): Buffer | null {
  const http = target.http!;
  const storedNames = before?.http?.secretHeaders ?? [];
  const isSame = before !== null && before.http !== null && before.http.url === http.url;
  if (sent === undefined) {
    if (storedNames.length === 0) return null;
    if (!isSame) throw refused('http.secretHeaders is required again, because http.url changes');
    const twice = Object.keys(http.headers).find((name) => storedNames.some((each) => isEqual(each, name)));
    if (twice !== undefined) throw refused(`http.headers must not have ${twice}, which is a secret header`);
    http.secretHeaders = storedNames;
    return before.password;
  }
  const unsentValues = Object.keys(sent).filter((name) => sent[name] === null);
  const missing = unsentValues.find((name) => !storedNames.includes(name));
  if (missing !== undefined) throw refused(`http.secretHeaders.${missing} must have a value: none is stored`);
  if (unsentValues.length > 0 && !isSame)
    throw refused('http.secretHeaders must have values again, because http.url changes');
  const names = Object.keys(sent);
  if (names.length === 0) return null;
  if (unsentValues.length === names.length && unsentValues.length === storedNames.length) return before!.password;
  if (sealer === null) throw withoutKey();
  const stored = unsentValues.length === 0 ? {} : secretsOf(before!, sealer);
  const values = Object.fromEntries(names.map((name) => [name, sent[name] ?? stored[name]]));
  return sealedPassword(sealer, tenantNo, JSON.stringify(values));
}

const isEqual = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
