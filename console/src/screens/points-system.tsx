import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { all } from '../api/answer.ts';
import { curl, type Changed, type New } from '../api/bodies.ts';
import { admin } from '../api/client.ts';
import { useToday } from '../api/clock.ts';
import { achievementsQuery, attributesQuery, metricsQuery, pointsQuery, type AdminRead } from '../api/queries.ts';
import { useNamed } from '../api/use-named.ts';
import { byId, named, type Field } from '../resource/field.ts';
import { ResourceList } from '../resource/resource-list.tsx';
import { boostText, causeText, ruleText, triggerRule } from '../rule-text.ts';
import { dayAfter, number } from '../ui/format.ts';
import { Code, Empty, Screen, Status } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';

const route = getRouteApi('/points/$id');

type Level = AdminRead<'/v1/points/{systemId}/levels'>[number];
type Trigger = AdminRead<'/v1/points/{systemId}/triggers'>[number];
type Boost = AdminRead<'/v1/points/{systemId}/boosts'>[number];

/** One points system: what gives points, what they reach, what multiplies them. */
export function PointsSystemScreen() {
  const { id } = route.useParams();
  const system = useQuery(pointsQuery).data?.find((one) => one.id === id);
  return (
    <Screen
      title={system?.name ?? 'Points system'}
      about={
        <>
          <Link to="/points" className="text-accent underline">
            All points systems
          </Link>{' '}
          {system && <Code>{system.key}</Code>}
        </>
      }
    >
      <Triggers systemId={id} />
      <Levels systemId={id} />
      <Boosts systemId={id} />
    </Screen>
  );
}

/** What to do where there is none of a kind yet. */
const none = (noun: string, systemId: string, example: object) => (
  <Empty title={`No ${noun} yet`} curl={curl('POST', `/v1/points/${systemId}/${noun}s`, [example])}>
    Create the first one here, or:
  </Empty>
);

function Triggers({ systemId }: { systemId: string }) {
  const metrics = useQuery(metricsQuery).data;
  const achievements = useQuery(achievementsQuery).data;
  const attributes = useQuery(attributesQuery).data;
  const path = { systemId };
  const rules = useNamed();
  const ruleIn = (trigger: Trigger) => triggerRule(trigger, rules);
  const columns: Column<Trigger>[] = [
    { id: 'type', header: 'Type', value: ({ type }) => type, cell: ({ type }) => type.replace('_', ' '), spare: true },
    { id: 'cause', header: 'For', cell: (trigger) => causeText(ruleIn(trigger)), wraps: true },
    {
      id: 'points',
      header: 'Points',
      align: 'right',
      value: ({ points }) => points,
      cell: ({ points }) => number(points),
    },
    { id: 'status', header: 'Status', cell: ({ status }) => <Status of={status} />, spare: true },
  ];
  const fields: Field<New<'/v1/points/{systemId}/triggers'>>[] = [
    {
      name: 'type',
      label: 'Type',
      kind: 'choice',
      options: named(['metric', 'achievement', 'streak', 'time', 'user_creation']),
      initial: 'metric',
      required: true,
    },
    { name: 'points', label: 'Points', kind: 'number', required: true, hint: 'Below 0 takes them away' },
    {
      name: 'metricId',
      label: 'Metric',
      kind: 'choice',
      options: byId(metrics),
      required: true,
      when: ({ type }) => type === 'metric',
    },
    {
      name: 'metricThreshold',
      label: 'For every',
      kind: 'number',
      required: true,
      when: ({ type }) => type === 'metric',
    },
    {
      name: 'achievementId',
      label: 'Achievement',
      kind: 'choice',
      options: byId(achievements),
      required: true,
      when: ({ type }) => type === 'achievement',
    },
    {
      name: 'streakLength',
      label: 'For every streak of',
      kind: 'number',
      required: true,
      when: ({ type }) => type === 'streak',
    },
    { name: 'timeInterval', label: 'Every', kind: 'number', required: true, when: ({ type }) => type === 'time' },
    {
      name: 'timeUnit',
      label: 'Unit',
      kind: 'choice',
      options: named(['hours', 'days']),
      initial: 'days',
      required: true,
      when: ({ type }) => type === 'time',
    },
    {
      name: 'userAttributes',
      label: 'Only users whose',
      kind: 'conditions',
      options: byId(attributes?.filter(({ type }) => type === 'user')),
    },
    {
      name: 'status',
      label: 'Status',
      kind: 'choice',
      options: named(['inactive', 'active']),
      initial: 'active',
      required: true,
    },
  ];
  return (
    <ResourceList
      title="Triggers"
      noun="trigger"
      nameOf={(trigger) => `the trigger of ${ruleText(ruleIn(trigger))}`}
      query={{
        queryKey: ['points', systemId, 'triggers'],
        queryFn: () => all((query) => admin.GET('/v1/points/{systemId}/triggers', { params: { path, query } })),
      }}
      columns={columns}
      fields={fields}
      create={(item) => admin.POST('/v1/points/{systemId}/triggers', { params: { path }, body: [item] })}
      update={(item) =>
        admin.PATCH('/v1/points/{systemId}/triggers', {
          params: { path },
          body: [item as Changed<'/v1/points/{systemId}/triggers'>],
        })
      }
      remove={(id) => admin.DELETE('/v1/points/{systemId}/triggers', { params: { path, query: { ids: [id] } } })}
      empty={none('trigger', systemId, { type: 'user_creation', points: 5, status: 'active' })}
    />
  );
}

const LEVEL_COLUMNS: readonly Column<Level>[] = [
  { id: 'name', header: 'Name', cell: ({ name }) => name },
  { id: 'key', header: 'Key', cell: ({ key }) => <Code>{key}</Code> },
  { id: 'points', header: 'From', align: 'right', value: ({ points }) => points, cell: ({ points }) => number(points) },
];
const LEVEL_FIELDS: readonly Field<New<'/v1/points/{systemId}/levels'>>[] = [
  { name: 'name', label: 'Name', kind: 'text', required: true },
  { name: 'key', label: 'Key', kind: 'text', required: true, fixed: true },
  { name: 'points', label: 'From so many points', kind: 'number', required: true },
  { name: 'badge', label: 'Badge', kind: 'picture', hint: 'The address of a picture; over https it is shown here' },
];

function Levels({ systemId }: { systemId: string }) {
  const path = { systemId };
  return (
    <ResourceList
      title="Levels"
      noun="level"
      nameOf={({ name }) => name}
      query={{
        queryKey: ['points', systemId, 'levels'],
        queryFn: () => all((query) => admin.GET('/v1/points/{systemId}/levels', { params: { path, query } })),
      }}
      columns={LEVEL_COLUMNS}
      fields={LEVEL_FIELDS}
      create={(item) => admin.POST('/v1/points/{systemId}/levels', { params: { path }, body: [item] })}
      update={(item) =>
        admin.PATCH('/v1/points/{systemId}/levels', {
          params: { path },
          body: [item as Changed<'/v1/points/{systemId}/levels'>],
        })
      }
      remove={(id) => admin.DELETE('/v1/points/{systemId}/levels', { params: { path, query: { ids: [id] } } })}
      empty={none('level', systemId, { key: 'novice', name: 'Novice', points: 10 })}
    />
  );
}

function Boosts({ systemId }: { systemId: string }) {
  const path = { systemId };
  const rules = useNamed();
  const today = useToday();
  const columns: readonly Column<Boost>[] = [
    { id: 'name', header: 'Name', cell: ({ name }) => name },
    { id: 'rule', header: 'Rule', cell: (boost) => boostText(boost, rules), wraps: true },
    { id: 'status', header: 'Status', cell: ({ status }) => <Status of={status} />, spare: true },
  ];
  const fields: readonly Field<New<'/v1/points/{systemId}/boosts'>>[] = [
    { name: 'name', label: 'Name', kind: 'text', required: true },
    { name: 'multiplier', label: 'Multiplier', kind: 'number', required: true, initial: 2 },
    { name: 'start', label: 'First day', kind: 'day', required: true, initial: today },
    { name: 'end', label: 'Last day', kind: 'day', initial: dayAfter(today, 7), hint: 'Empty: without an end' },
    {
      name: 'rounding',
      label: 'Fractions are rounded',
      kind: 'choice',
      options: named(['down', 'up', 'nearest']),
      initial: 'down',
      required: true,
    },
    { name: 'userId', label: 'Only for the user', kind: 'text', fixed: true, hint: 'An ID; empty: for everybody' },
  ];
  return (
    <ResourceList
      title="Boosts"
      noun="boost"
      nameOf={({ name }) => name}
      query={{
        queryKey: ['points', systemId, 'boosts'],
        queryFn: () => all((query) => admin.GET('/v1/points/{systemId}/boosts', { params: { path, query } })),
      }}
      columns={columns}
      fields={fields}
      create={(item) => admin.POST('/v1/points/{systemId}/boosts', { params: { path }, body: [item] })}
      update={(item) =>
        admin.PATCH('/v1/points/{systemId}/boosts', {
          params: { path },
          body: [item as Changed<'/v1/points/{systemId}/boosts'>],
        })
      }
      remove={(id) => admin.DELETE('/v1/points/{systemId}/boosts', { params: { path, query: { ids: [id] } } })}
      empty={none('boost', systemId, { name: 'Opening week', start: today, multiplier: 2 })}
    />
  );
}
