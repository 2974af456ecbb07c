import fc from 'fast-check';
import type {
  Configuration,
  ConfiguredAchievement,
  ConfiguredBoost,
  ConfiguredCondition,
  ConfiguredLeaderboard,
  ConfiguredReward,
  ConfiguredTrigger,
} from '../../src/domain/configuration.ts';
import { MESSAGE_KINDS } from '../../src/domain/notifications/message-variables.ts';

type Draw = <T>(arbitrary: fc.Arbitrary<T>) => T;

const name = fc.constantFrom('One', 'Two', 'Ünïcödé ✓', '"quoted" \\ back', ' spaced ');
const text = fc.constantFrom('', 'Text', 'zwei\nZeilen', '…');
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const date = fc.constantFrom('2025-12-31', '2026-01-01', '2026-02-28', '2026-03-01', '2026-12-24');
const amount = fc.constantFrom(0.000_001, 0.5, 1, 10, 999.999, 1e12);
const subset = <T>(all: readonly T[]): fc.Arbitrary<T[]> => fc.shuffledSubarray([...all]);

const limit = fc.integer({ min: 1, max: 1_000_000 }).map((millis) => millis / 1_000);
const action = fc.constantFrom('refuse' as const, 'clamp' as const, 'quarantine' as const);
const guards = fc.record(
  {
    maxValue: fc.record({ limit, action }),
    minSecondsBetween: fc.record({ limit, action: fc.constantFrom('refuse' as const, 'quarantine' as const) }),
    maxSumPerDay: fc.record({ limit, action }),
  },
  { requiredKeys: [] },
);

/** Without undefined properties, as sent over the wire. */
const sent = <T extends object>(item: { [N in keyof T]: T[N] | undefined }): T => JSON.parse(JSON.stringify(item)) as T;

/** A valid document, regardless of the configuration before the first one. */
export const randomConfiguration: fc.Arbitrary<Configuration> = fc.gen().map((gen) => {
  const draw: Draw = (arbitrary) => gen(() => arbitrary);
  const attributes = draw(
    subset([
      { key: 'plan', type: 'user' },
      { key: '__proto__', type: 'user' },
      { key: 'plan', type: 'event' },
      { key: 'deck', type: 'event' },
    ] as const),
  ).map((attribute) =>
    sent<NonNullable<Configuration['attributes']>[number]>({
      ...attribute,
      name: draw(name),
      writableBy: attribute.type === 'user' ? draw(optional(fc.constantFrom('server', 'user'))) : undefined,
    }),
  );
  const metrics = draw(subset(['flips', 'minutes', 'constructor'])).map((key) =>
    sent<NonNullable<Configuration['metrics']>[number]>({
      key,
      name: draw(name),
      unitType: draw(optional(fc.constantFrom('number', 'currency'))),
      units: draw(optional(text)),
      guards: draw(optional(guards)),
    }),
  );
  const known: Known = {
    draw,
    userKeys: attributes.filter(({ type }) => type === 'user').map(({ key }) => key),
    eventKeys: attributes.filter(({ type }) => type === 'event').map(({ key }) => key),
    metricKeys: metrics.map(({ key }) => key),
    achievements: [],
  };
  // Each depends only on earlier ones; then they are shuffled.
  for (const label of ['a', 'b', 'c', 'd']) if (draw(fc.boolean())) known.achievements.push(achievement(known, label));
  const achievements = draw(fc.shuffledSubarray(known.achievements, { minLength: known.achievements.length }));
  const pointsSystems = draw(subset(['xp', 'gems'])).map((key) => ({
    ...sent<{ key: string; name: string }>({
      key,
      name: draw(name),
      description: draw(optional(fc.option(text))),
      badge: draw(optional(fc.option(fc.webUrl({ validSchemes: ['http', 'https'] }).map((url) => ({ url }))))),
      maxPoints: draw(optional(fc.constantFrom(null, 1, 1_000))),
    } as never),
    levels: draw(subset(['low', 'mid', 'top'])).map((level, index) =>
      sent<never>({ key: level, name: draw(name), points: index * 10, description: draw(optional(text)) } as never),
    ),
    triggers: draw(fc.array(fc.constant(null), { maxLength: 4 })).map(() => trigger(known, key)),
    boosts: draw(fc.array(fc.constant(null), { maxLength: 3 })).map(() => boost(known)),
  }));
  const leaderboards = draw(subset(['week', 'all'])).map((key) =>
    leaderboard(
      known,
      key,
      pointsSystems.map((system) => system.key),
    ),
  );
  return sent<Configuration>({
    attributes,
    metrics,
    achievements,
    pointsSystems,
    leaderboards,
    rewards:
      pointsSystems.length === 0
        ? undefined
        : rewards(
            known,
            pointsSystems.map(({ key }) => key),
          ),
    streaks: streaks(known),
    events: sent<NonNullable<Configuration['events']>>({
      lateEventDays: draw(optional(fc.integer({ min: 0, max: 400 }))),
      clientsMaySendLate: draw(optional(fc.boolean())),
      signUpDateWritableBy: draw(optional(fc.constantFrom('server', 'user'))),
    }),
    messages: messages(known),
  });
});

interface Known {
  draw: Draw;
  userKeys: string[];
  eventKeys: string[];
  metricKeys: string[];
  achievements: ConfiguredAchievement[];
}

function messages({ draw, userKeys }: Known): NonNullable<Configuration['messages']> {
  const variables = fc.constantFrom('', ...userKeys.map((key) => `{{user.attributes.${key}|none}}`));
  const source = (start: string): string => `${start} ${draw(variables)}`;
  const localeAttribute = userKeys.length === 0 ? null : draw(fc.constantFrom(null, ...userKeys));
  const locales = localeAttribute === null ? [] : draw(subset(['de', 'pt-BR']));
  const templates = draw(subset(MESSAGE_KINDS)).flatMap((kind) =>
    [undefined, ...locales].map((locale) => ({
      kind,
      ...(locale !== undefined && { locale }),
      subject: source('Hello'),
      html: source('<p>Hello</p><a href="{{unsubscribeUrl}}">Stop</a>'),
      text: source('Hello {{unsubscribeUrl}}'),
    })),
  );
  const pushTemplates = draw(subset(MESSAGE_KINDS)).flatMap((kind) =>
    [undefined, ...locales].map((locale) => ({
      kind,
      ...(locale !== undefined && { locale }),
      title: source('Hello'),
      body: source('Look'),
      ...(draw(fc.boolean()) && { url: `https://example.com/${draw(variables)}` }),
    })),
  );
  const unsubscribePages = draw(subset(MESSAGE_KINDS)).map((kind) => ({
    kind,
    ...(draw(fc.boolean()) && { locale: 'de' }),
    title: 'Stop',
    question: 'No more <e-mails>?',
    button: 'Yes',
    doneTitle: 'Done',
    done: 'You get none.',
  }));
  return sent<NonNullable<Configuration['messages']>>({
    templates,
    pushTemplates,
    unsubscribePages,
    localeAttribute,
    quietHours: draw(optional(fc.constantFrom(null, { from: '22:00', to: '07:30' }))),
    emailsPerDay: draw(optional(fc.integer({ min: 1, max: 100 }))),
    pushesPerDay: draw(optional(fc.integer({ min: 1, max: 100 }))),
    trackOpens: draw(optional(fc.boolean())),
    trackClicks: draw(optional(fc.boolean())),
  });
}

function rewards({ draw }: Known, systemKeys: string[]): ConfiguredReward[] {
  return draw(subset(['mug', 'pen'])).map((key) =>
    sent<ConfiguredReward>({
      key,
      name: draw(name),
      pointsSystemKey: draw(fc.constantFrom(...systemKeys)),
      price: draw(fc.integer({ min: 1, max: 1_000 })),
      stock: draw(optional(fc.integer({ min: 0, max: 100 }))),
      limitPerUser: draw(optional(fc.integer({ min: 1, max: 9 }))),
      claimableByUsers: draw(optional(fc.boolean())),
      status: draw(optional(fc.constantFrom('active', 'inactive'))),
    }),
  );
}

function conditions({ draw }: Known, keys: string[]): ConfiguredCondition[] | undefined {
  return draw(optional(subset(keys)))?.map((key) => ({ key, value: draw(text) }));
}

function achievement(known: Known, label: string): ConfiguredAchievement {
  const { draw, metricKeys, achievements, userKeys, eventKeys } = known;
  const kinds = [
    'streak',
    'anniversary',
    'api',
    ...(metricKeys.length > 0 ? ['metric'] : []),
    ...(achievements.length > 0 ? ['achievement'] : []),
  ];
  const trigger = draw(fc.constantFrom(...kinds)) as ConfiguredAchievement['trigger'];
  const keyed = trigger === 'api' || draw(fc.boolean());
  const repeated = draw(fc.boolean());
  const own = {
    id: repeated && !keyed ? `00000000-0000-4000-8000-00000000000${label}` : undefined,
    name: repeated ? 'The same' : `Name ${label}`,
  };
  const parts = trigger === 'achievement' ? draw(fc.shuffledSubarray(achievements, { minLength: 1 })) : [];
  const requires = draw(fc.shuffledSubarray(achievements));
  return sent<ConfiguredAchievement>({
    key: keyed ? `key-${label}` : undefined,
    // Names may repeat: then an ID ties references to their item.
    ...own,
    description: draw(optional(fc.option(text))),
    badge: draw(optional(fc.option(fc.webUrl({ validSchemes: ['http', 'https'] }).map((url) => ({ url }))))),
    status: draw(optional(fc.constantFrom('inactive', 'active', 'locked'))),
    trigger,
    metricKey: trigger === 'metric' ? draw(fc.constantFrom(...metricKeys)) : undefined,
    metricValue: trigger === 'metric' ? draw(amount) : undefined,
    streakLength: trigger === 'streak' ? draw(fc.integer({ min: 1, max: 400 })) : undefined,
    anniversaryYears: trigger === 'anniversary' ? draw(fc.integer({ min: 1, max: 100 })) : undefined,
    achievementKeys: trigger === 'achievement' ? parts.flatMap(({ key }) => key ?? []) : undefined,
    achievementNames:
      trigger === 'achievement'
        ? parts.flatMap((part) => (part.key === undefined && part.id === undefined ? [part.name] : []))
        : undefined,
    achievementIds: trigger === 'achievement' ? parts.flatMap(({ id }) => id ?? []) : undefined,
    requiresKeys: requires.flatMap(({ key }) => key ?? []),
    requiresNames: requires.flatMap((part) => (part.key === undefined && part.id === undefined ? [part.name] : [])),
    requiresIds: requires.flatMap(({ id }) => id ?? []),
    userAttributes: conditions(known, userKeys),
    eventAttributes: trigger === 'metric' ? conditions(known, eventKeys) : undefined,
  });
}

/** A trigger of a points system. */
function trigger(known: Known, systemKey: string): ConfiguredTrigger {
  const { draw, metricKeys, achievements, userKeys, eventKeys } = known;
  const kinds = [
    'streak',
    'time',
    'user_creation',
    'level',
    ...(metricKeys.length > 0 ? ['metric'] : []),
    ...(achievements.length > 0 ? ['achievement'] : []),
  ];
  const kind = draw(fc.constantFrom(...kinds)) as ConfiguredTrigger['type'] | 'level';
  const type = kind === 'level' ? 'achievement' : kind;
  const paid = kind === 'achievement' ? draw(fc.constantFrom(...achievements)) : null;
  return sent<ConfiguredTrigger>({
    type,
    points: draw(fc.constantFrom(-5, -0, 0, 5, 1e12)),
    status: draw(optional(fc.constantFrom('inactive', 'active'))),
    metricKey: type === 'metric' ? draw(fc.constantFrom(...metricKeys)) : undefined,
    metricThreshold: type === 'metric' ? draw(fc.integer({ min: 1, max: 3 })) : undefined,
    achievementKey: paid?.key,
    achievementName: paid !== null && paid.key === undefined && paid.id === undefined ? paid.name : undefined,
    achievementId: paid?.id,
    streakLength: type === 'streak' ? draw(fc.integer({ min: 1, max: 3 })) : undefined,
    timeUnit: type === 'time' ? draw(fc.constantFrom('hours', 'days')) : undefined,
    timeInterval: type === 'time' ? draw(fc.integer({ min: 1, max: 3 })) : undefined,
    pointsSystemKey: kind === 'level' ? systemKey : undefined,
    blockIfOutOfPoints: draw(optional(fc.boolean())),
    userAttributes: conditions(known, userKeys),
    eventAttributes: type === 'metric' ? conditions(known, eventKeys) : undefined,
  });
}

function boost(known: Known): ConfiguredBoost {
  const { draw } = known;
  const [start, end] = draw(fc.tuple(date, optional(fc.option(date))));
  return sent<ConfiguredBoost>({
    name: draw(name),
    userId: draw(optional(fc.constantFrom(null, 'ada', 'bob'))),
    start,
    end: typeof end === 'string' && end < start ? start : end,
    multiplier: draw(fc.constantFrom(0.5, 1, 2, 99.999)),
    rounding: draw(optional(fc.constantFrom('down', 'up', 'nearest'))),
    userAttributes: conditions(known, known.userKeys),
  });
}

function leaderboard(known: Known, key: string, systemKeys: string[]): ConfiguredLeaderboard {
  const { draw, metricKeys, userKeys, eventKeys } = known;
  const kinds = ['streak', ...(metricKeys.length > 0 ? ['metric'] : []), ...(systemKeys.length > 0 ? ['points'] : [])];
  const rankBy = draw(fc.constantFrom(...kinds)) as ConfiguredLeaderboard['rankBy'];
  const [start, end] = draw(fc.tuple(optional(date), optional(fc.option(fc.constantFrom('2026-12-24', '2027-01-01')))));
  const runUnit =
    rankBy === 'streak'
      ? draw(fc.constantFrom(undefined, null))
      : draw(optional(fc.constantFrom('day', 'month', 'year')));
  const team = rankBy !== 'streak' && userKeys.length > 0 && draw(fc.boolean());
  const single = rankBy === 'metric' && !team;
  const secondary = single && eventKeys.length > 0 && draw(fc.boolean());
  return sent<ConfiguredLeaderboard>({
    key,
    name: draw(name),
    description: draw(optional(fc.option(text))),
    status: draw(optional(fc.constantFrom('inactive', 'scheduled', 'active', 'finished'))),
    rankBy,
    metricKey: rankBy === 'metric' ? draw(fc.constantFrom(...metricKeys)) : undefined,
    aggregate: secondary
      ? draw(fc.constantFrom('max', 'min', 'last'))
      : single
        ? draw(optional(fc.constantFrom('sum', 'max', 'min', 'last')))
        : undefined,
    order: single ? draw(optional(fc.constantFrom('descending', 'ascending'))) : undefined,
    keepsMetadata: draw(optional(fc.boolean())),
    ties: secondary ? 'first' : single ? draw(optional(fc.constantFrom('shared', 'first'))) : undefined,
    secondaryAttributeKey: secondary ? draw(fc.constantFrom(...eventKeys)) : undefined,
    secondaryOrder: secondary ? draw(optional(fc.constantFrom('ascending', 'descending'))) : undefined,
    pointsSystemKey: rankBy === 'points' ? draw(fc.constantFrom(...systemKeys)) : undefined,
    maxParticipants: draw(optional(fc.constantFrom(null, 1, 1_000))),
    start,
    end,
    startTime: draw(optional(fc.constantFrom(null, '08:00', '08:00:00'))),
    endTime: draw(optional(fc.constantFrom(null, '09:30', '23:59:59'))),
    breakdownAttributes: team ? undefined : draw(optional(subset(userKeys))),
    teamAttributeKey: team ? draw(fc.constantFrom(...userKeys)) : undefined,
    teamsBy: team ? draw(optional(fc.constantFrom('sum', 'mean'))) : undefined,
    teamMinMembers: team ? draw(optional(fc.integer({ min: 1, max: 1_000 }))) : undefined,
    runUnit,
    runInterval: typeof runUnit === 'string' ? draw(optional(fc.integer({ min: 1, max: 31 }))) : undefined,
  });
}

function streaks({ draw, metricKeys }: Known): NonNullable<Configuration['streaks']> {
  const earned = draw(fc.boolean());
  const frequency = draw(optional(fc.constantFrom('daily', 'weekly', 'monthly')));
  return sent<NonNullable<Configuration['streaks']>>({
    enabled: draw(optional(fc.boolean())),
    frequency,
    daysOff:
      frequency === 'daily'
        ? draw(optional(subset([0, 1, 2, 3, 4, 5, 6]).filter((days) => days.length < 7)))
        : undefined,
    weekStart: draw(optional(fc.constantFrom('sunday', 'monday'))),
    evaluationMode: draw(optional(fc.constantFrom('OR', 'AND'))),
    metrics: draw(subset(metricKeys)).map((metricKey) => ({ metricKey, threshold: draw(amount) })),
    freezes: {
      initial: draw(fc.integer({ min: 0, max: 3 })),
      max: draw(fc.integer({ min: 3, max: 100 })),
      autoEarnInterval: earned ? draw(fc.integer({ min: 1, max: 30 })) : null,
      autoEarnAmount: earned ? draw(fc.integer({ min: 1, max: 5 })) : null,
    },
    personalization: draw(optional(fc.boolean())),
  });
}
