/** The thing that a part of a path or a field is about: what `{noun}` stands for in a text. */
const NOUNS: Readonly<Record<string, string>> = {
  achievement: 'achievement',
  achievements: 'achievement',
  'admin-api-keys': 'key',
  'application-api-keys': 'key',
  attributes: 'attribute',
  'audit-log': 'entry',
  awards: 'award',
  backdatings: 'job',
  boards: 'leaderboard',
  boost: 'boost',
  boosts: 'boost',
  breakdownAttributes: 'attribute',
  breakdownAttributeValues: 'attribute',
  changes: 'resource',
  completions: 'completion',
  'dead-letters': 'entry',
  deliveries: 'message',
  demo: 'resource',
  environments: 'environment',
  event: 'event',
  eventAttribute: 'attribute',
  eventAttributes: 'attribute',
  events: 'event',
  'filtered-users': 'user',
  gained: 'achievement',
  imports: 'user',
  jobs: 'job',
  leaderboard: 'leaderboard',
  'leaderboard-fillings': 'job',
  leaderboards: 'leaderboard',
  level: 'level',
  levels: 'level',
  lost: 'achievement',
  metric: 'metric',
  metrics: 'metric',
  newLevel: 'level',
  pauses: 'pause',
  organisation: 'organisation',
  points: 'points system',
  pointsSystem: 'points system',
  pointsSystems: 'points system',
  previousLevel: 'level',
  quarantine: 'event',
  recomputations: 'recomputation',
  redisServers: 'server',
  requests: 'request',
  resend: 'resend',
  resends: 'resend',
  session: 'key',
  subject: 'subject',
  streaks: 'streak',
  tenants: 'tenant',
  timeline: 'entry',
  trigger: 'trigger',
  triggers: 'trigger',
  user: 'user',
  userAttributes: 'attribute',
  users: 'user',
  verifications: 'verification',
  webhooks: 'webhook',
};

const plural = (noun: string): string => (noun.endsWith('ry') ? `${noun.slice(0, -1)}ies` : `${noun}s`);

/** Replaces `{noun}` and `{nouns}` by the innermost known word of `around`; undefined if there is none. */
export function withNoun(text: string, around: readonly string[]): string | undefined {
  if (!text.includes('{noun')) return text;
  const word = around.findLast((one) => one in NOUNS);
  if (word === undefined) return undefined;
  const noun = NOUNS[word]!;
  return text.replaceAll('{nouns}', plural(noun)).replaceAll('{noun}', noun);
}
