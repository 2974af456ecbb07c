import { Type, type Static } from 'typebox';
import { EFFECT_VERDICTS } from './message-effect.ts';
import { MEDIA } from './notifications/medium.ts';
import { MESSAGE_COUNTS, type MessageCount } from './notifications/message-counts.ts';
import { MESSAGE_KINDS } from './notifications/message-variables.ts';
import { LocalDate, Nullable, Uuid } from './schemas.ts';

/** Answers of the analytics operations. Fields that end in `Before` are of the period of the same length before the range. */

const range = { from: LocalDate, to: LocalDate, fromBefore: LocalDate, toBefore: LocalDate };
const Count = Type.Integer();
const Counts = <T extends string>(...names: T[]) =>
  Type.Object({
    date: LocalDate,
    ...(Object.fromEntries(names.map((name) => [name, Count])) as Record<T, typeof Count>),
  });
const OfPeriod = Type.Object({ date: LocalDate, activeUsers: Count, isPartial: Type.Boolean() });

export const AnalyticsSegments = Type.Object({
  controlShare: Type.Number(),
  attributes: Type.Array(
    Type.Object({
      key: Type.String(),
      name: Type.String(),
      values: Type.Array(Type.String()),
      isFull: Type.Boolean(),
    }),
  ),
});
export type AnalyticsSegments = Static<typeof AnalyticsSegments>;

export const AnalyticsUsers = Type.Object({
  ...range,
  users: Count,
  countedFrom: Nullable(LocalDate),
  newUsers: Count,
  newUsersBefore: Count,
  days: Type.Array(Counts('activeUsers', 'activeUsersBefore', 'newUsers', 'newUsersBefore')),
  weeks: Type.Array(OfPeriod),
  months: Type.Array(OfPeriod),
});
export type AnalyticsUsers = Static<typeof AnalyticsUsers>;

const named = { id: Uuid, key: Type.String(), name: Type.String() };
const counted = { events: Count, eventsBefore: Count, value: Type.Number(), valueBefore: Type.Number() };

export const AnalyticsMetrics = Type.Object({
  ...range,
  metrics: Type.Array(
    Type.Object({ ...named, units: Type.String(), ...counted, days: Type.Optional(Type.Array(Count)) }),
  ),
});
export type AnalyticsMetrics = Static<typeof AnalyticsMetrics>;

const EngagedGroup = Type.Object({
  users: Count,
  activeUsers: Count,
  value: Type.Number(),
  perUser: Nullable(Type.Number()),
});
const difference = {
  difference: Nullable(Type.Number()),
  low: Nullable(Type.Number()),
  high: Nullable(Type.Number()),
};

export const AnalyticsMetric = Type.Object({
  ...range,
  ...named,
  units: Type.String(),
  ...counted,
  days: Type.Array(Type.Object({ date: LocalDate, ...counted })),
  weeks: Type.Array(
    Type.Object({
      date: LocalDate,
      activeUsers: Count,
      value: Type.Number(),
      perUser: Nullable(Type.Number()),
    }),
  ),
  sizes: Type.Array(Type.Object({ from: Type.Number(), to: Type.Number(), events: Count })),
  attributes: Type.Array(Type.Object({ key: Type.String(), value: Type.String(), events: Count, sum: Type.Number() })),
  attributeEvents: Count,
});
export type AnalyticsMetric = Static<typeof AnalyticsMetric>;

export const AnalyticsEngagement = Type.Object({
  from: LocalDate,
  to: LocalDate,
  sampled: Count,
  control: EngagedGroup,
  others: EngagedGroup,
  ...difference,
});
export type AnalyticsEngagement = Static<typeof AnalyticsEngagement>;

export const AnalyticsRetention = Type.Object({
  from: LocalDate,
  to: LocalDate,
  cohorts: Type.Array(
    Type.Object({ date: LocalDate, users: Count, weeks: Type.Array(Count), isComplete: Type.Boolean() }),
  ),
  returned: Type.Array(Type.Object({ afterDays: Count, users: Count, active: Count })),
  comparison: Type.Array(
    Type.Object({
      week: Count,
      segmentUsers: Count,
      segmentActive: Count,
      otherUsers: Count,
      otherActive: Count,
      ...difference,
    }),
  ),
});
export type AnalyticsRetention = Static<typeof AnalyticsRetention>;

const completed = { completed: Count, completedBefore: Count };
const achievement = { id: Uuid, key: Nullable(Type.String()), name: Type.String(), trigger: Type.String() };

export const AnalyticsAchievements = Type.Object({
  ...range,
  users: Count,
  days: Type.Array(Type.Object({ date: LocalDate, ...completed })),
  achievements: Type.Array(
    Type.Object({ ...achievement, ...completed, holders: Count, medianSeconds: Nullable(Count) }),
  ),
});
export type AnalyticsAchievements = Static<typeof AnalyticsAchievements>;

export const AnalyticsAchievement = Type.Object({
  ...range,
  ...achievement,
  users: Count,
  ...completed,
  holders: Count,
  medianSeconds: Nullable(Count),
  days: Type.Array(Type.Object({ date: LocalDate, ...completed })),
  durations: Type.Array(Type.Object({ seconds: Count, completed: Count })),
  sampled: Count,
  progress: Nullable(Type.Array(Type.Object({ from: Type.Number(), to: Type.Number(), users: Count }))),
});
export type AnalyticsAchievement = Static<typeof AnalyticsAchievement>;

const moved = {
  awarded: Type.Number(),
  awardedBefore: Type.Number(),
  taken: Type.Number(),
  takenBefore: Type.Number(),
};

const Points = Type.Number();
const spent = {
  spent: Points,
  spentBefore: Points,
  refunded: Points,
  refundedBefore: Points,
  expired: Points,
  expiredBefore: Points,
};
const standing = { net: Points, held: Points, balance: Points };

export const AnalyticsPoints = Type.Object({
  ...range,
  systems: Type.Array(Type.Object({ ...named, ...moved, ...spent, ...standing })),
});
export type AnalyticsPoints = Static<typeof AnalyticsPoints>;

export const AnalyticsPointsSystem = Type.Object({
  ...range,
  ...named,
  ...moved,
  ...spent,
  ...standing,
  days: Type.Array(
    Type.Object({ date: LocalDate, ...moved, spent: Points, refunded: Points, expired: Points, ...standing }),
  ),
  triggers: Type.Array(
    Type.Object({
      id: Nullable(Uuid),
      type: Nullable(Type.String()),
      awards: Count,
      ...moved,
      days: Type.Array(Type.Number()),
    }),
  ),
  ranges: Type.Array(Type.Object({ from: Count, to: Count, users: Count })),
  levels: Type.Array(Type.Object({ id: Uuid, name: Type.String(), users: Count })),
});
export type AnalyticsPointsSystem = Static<typeof AnalyticsPointsSystem>;

export const AnalyticsStreaks = Type.Object({
  ...range,
  users: Count,
  days: Type.Array(Counts('extended', 'extendedBefore', 'lost', 'lostBefore', 'frozen', 'frozenBefore')),
  sampled: Count,
  lengths: Type.Array(Type.Object({ from: Count, to: Nullable(Count), users: Count })),
});
export type AnalyticsStreaks = Static<typeof AnalyticsStreaks>;

export const AnalyticsLeaderboards = Type.Object({
  ...range,
  leaderboards: Type.Array(
    Type.Object({
      ...named,
      rankBy: Type.String(),
      start: LocalDate,
      end: Nullable(LocalDate),
      groups: Count,
      participants: Count,
      changed: Count,
      changedBefore: Count,
      days: Type.Array(
        Type.Object({
          ...Counts('changed', 'changedBefore', 'joined', 'joinedBefore').properties,
          distance: Type.Number(),
          distanceBefore: Type.Number(),
        }),
      ),
      scores: Type.Array(Type.Object({ percent: Count, rank: Count, value: Type.Number() })),
    }),
  ),
});
export type AnalyticsLeaderboards = Static<typeof AnalyticsLeaderboards>;

const Described = (description: string) => Type.Integer({ description });
const MESSAGE_TEXTS: Readonly<Record<MessageCount, string>> = {
  due: 'Messages that fell due.',
  sent: 'Messages that the mail server or a push provider took.',
  delivered: 'E-mails that arrived, as the mail provider reports.',
  bounced: 'E-mails that bounced for good, as the mail provider reports.',
  complained: 'E-mails that their recipients called spam, as the mail provider reports.',
  opened: 'Messages that were opened; mail programs that load pictures on their own count.',
  clicked: 'E-mails with a link that was followed.',
  unsubscribed: 'E-mails by whose link the user unsubscribed.',
  withheld: 'Messages that users of the control group did not get.',
};
const messageFigures = Object.fromEntries(
  MESSAGE_COUNTS.map((count) => [count, Described(MESSAGE_TEXTS[count])]),
) as Record<MessageCount, typeof Count>;
const MessageFigures = Type.Object(messageFigures, { description: 'The same in the period before.' });
export type MessageFigures = Static<typeof MessageFigures>;
const Kind = Type.Enum([...MESSAGE_KINDS], { description: 'Kind of the messages.' });

export const AnalyticsMessages = Type.Object({
  ...range,
  messages: Type.Array(
    Type.Object({
      kind: Kind,
      medium: Type.Enum([...MEDIA], { description: 'How they reach users.' }),
      ...messageFigures,
      before: MessageFigures,
      days: Type.Array(
        Type.Object({
          date: { ...LocalDate, description: 'The UTC day on which the messages fell due.' },
          ...messageFigures,
        }),
        { description: 'Days with messages, in order.' },
      ),
    }),
    { description: 'The kinds and media with messages in the range or in the period before.' },
  ),
});
export type AnalyticsMessages = Static<typeof AnalyticsMessages>;

export const AnalyticsMessageEffect = Type.Object({
  from: LocalDate,
  to: LocalDate,
  kinds: Type.Array(
    Type.Object({
      kind: Kind,
      users: Described('Users for whom a message fell due, as far as they were looked at.'),
      reached: Described('Those of them who were sent at least one.'),
      controlUsers: Described('Users of the control group from whom one was withheld, likewise.'),
      isSampled: Type.Boolean({ description: 'Whether not all of these users were looked at.' }),
      returned: Type.Array(
        Type.Object({
          afterDays: Described('An event within this many times 24 hours counts.'),
          users: Described('Users for whom a message fell due, if that time is over.'),
          returned: Described('Those of them who had an event in it.'),
          controlUsers: Described('Users of the control group for whom that time is over.'),
          controlReturned: Described('Those of them who had an event in it.'),
          difference: Nullable(Type.Number(), {
            description:
              'Share of the users who returned, minus that of the control group; null: one of them is empty.',
          }),
          low: Nullable(Type.Number(), { description: 'Lower bound of its 95 % confidence interval; null likewise.' }),
          high: Nullable(Type.Number(), { description: 'Upper bound of its 95 % confidence interval; null likewise.' }),
          verdict: Type.Enum([...EFFECT_VERDICTS], {
            description:
              '`too_few`: fewer than 50 users in a group. `unclear`: the interval contains 0. `more`, `fewer`: with messages, more or ' +
              'fewer users return.',
          }),
          conclusion: Type.String({ description: 'The same as a sentence.' }),
        }),
        { description: 'By the days after the message.' },
      ),
    }),
    { description: 'The kinds with messages in the range.' },
  ),
});
export type AnalyticsMessageEffect = Static<typeof AnalyticsMessageEffect>;
