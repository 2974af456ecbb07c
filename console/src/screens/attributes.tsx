import { useQuery } from '@tanstack/react-query';
import { answer } from '../api/answer.ts';
import { curl } from '../api/bodies.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { attributesQuery, eventSettingsQuery, type Attribute } from '../api/queries.ts';
import { ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { Labelled, SelectInput } from '../ui/fields.tsx';
import { Code, Empty, Failed, Panel, Screen } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';

const COLUMNS: readonly Column<Attribute>[] = [
  { id: 'name', header: 'Name', value: ({ name }) => name, cell: ({ name }) => name },
  { id: 'key', header: 'Key', value: ({ key }) => key, cell: ({ key }) => <Code>{key}</Code> },
  { id: 'type', header: 'Of', value: ({ type }) => type, cell: ({ type }) => type },
  {
    id: 'writableBy',
    header: 'Writable by',
    value: ({ effectiveWritableBy = '' }) => effectiveWritableBy,
    cell: ({ writableBy, effectiveWritableBy }) =>
      effectiveWritableBy === undefined
        ? '–'
        : `${effectiveWritableBy === 'user' ? 'users' : 'servers'}${(writableBy ?? null) === null ? ' (default)' : ''}`,
  },
];
const WRITERS = [
  { value: 'server', text: 'Servers only (admin keys)' },
  { value: 'user', text: 'Users too (application keys)' },
];
/** Who may write the sign-up date, which anniversaries go by. */
function SignUpDates() {
  const settings = useQuery(eventSettingsQuery);
  const save = useChange({
    run: (signUpDateWritableBy: 'server' | 'user') =>
      answer(admin.PATCH('/v1/events/settings', { body: { signUpDateWritableBy } })),
    done: 'Saved.',
    quiet: true,
  });
  if (settings.isPending || settings.isError) return null;
  return (
    <Panel title="Sign-up dates" className="max-w-3xl">
      <Labelled label="Sign-up dates are writable by" hint="Anniversaries complete by them.">
        <SelectInput
          className="max-w-72"
          value={settings.data.signUpDateWritableBy}
          disabled={save.isPending}
          onChange={({ target }) => save.mutate(target.value as 'server' | 'user')}
        >
          {WRITERS.map(({ value, text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </SelectInput>
      </Labelled>
      {save.isError && <Failed error={save.error} />}
    </Panel>
  );
}

export const Attributes = () => (
  <Screen
    title="Attributes"
    about="What is known of users and events. Conditions, boosts and the groups of leaderboards go by them."
  >
    <ResourceList
      noun="attribute"
      nameOf={({ name }) => name}
      query={attributesQuery}
      columns={COLUMNS}
      fields={useForm('attribute')}
      create={(item) => admin.POST('/v1/attributes', { body: [item] })}
      update={(item) => admin.PATCH('/v1/attributes', { body: [item] })}
      remove={(id) => admin.DELETE('/v1/attributes', { params: { query: { ids: [id] } } })}
      empty={
        <Empty
          title="No attribute yet"
          curl={curl('POST', '/v1/attributes', [{ key: 'plan', name: 'Plan', type: 'user' }])}
        >
          Create the first one here, or:
        </Empty>
      }
    />
    <SignUpDates />
  </Screen>
);
