import { useQuery } from '@tanstack/react-query';
import { answer } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import { eventSettingsQuery } from '../api/queries.ts';
import { FieldsForm } from '../resource/editor.tsx';
import { useForm } from '../resource/use-form.ts';
import { Panel } from '../ui/parts.tsx';

/** Limits for late events. The attributes screen has the other setting, of sign-up dates. */
export function EventSettings() {
  const settings = useQuery(eventSettingsQuery);
  const fields = useForm('events').filter(({ name }) => name !== 'signUpDateWritableBy');
  if (settings.isPending || settings.isError) return null;
  return (
    <Panel title="Late events" className="max-w-3xl">
      <FieldsForm
        fields={fields}
        item={settings.data}
        save={(body) => answer(admin.PATCH('/v1/events/settings', { body }))}
        done="Saved."
      />
    </Panel>
  );
}
