import { useQuery } from '@tanstack/react-query';
import { answer } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import { organisationQuery, settingsQuery } from '../api/queries.ts';
import { FieldsForm } from '../resource/editor.tsx';
import type { Values } from '../resource/field.ts';
import { useForm } from '../resource/use-form.ts';
import { Failed, Panel, Screen, Waiting } from '../ui/parts.tsx';

/** Settings of the organisation, for every tenant. */
export function Organisation() {
  const organisation = useQuery(organisationQuery);
  const settings = useQuery(settingsQuery);
  const own = useForm('organisation');
  const branding = useForm('branding');
  const others = useForm('settings');
  const error = organisation.error ?? settings.error;
  if (error !== null)
    return (
      <Screen title="Organisation">
        <Failed error={error} />
      </Screen>
    );
  if (organisation.data === undefined || settings.data === undefined) return <Waiting of="fields" />;
  const { experimentation, aggregationPeriod } = settings.data;
  const item: Values = {
    ...settings.data.branding,
    aggregationPeriod,
    userActivationWindow: experimentation.userActivationWindow,
  };
  return (
    <Screen title="Organisation" about="Settings that apply to every tenant.">
      <Panel title="General" className="max-w-3xl">
        <FieldsForm
          fields={own}
          item={organisation.data}
          save={(body) => answer(admin.PATCH('/v1/organisation', { body }))}
          done="Saved."
        />
      </Panel>
      <Panel title="Branding and recaps" className="max-w-3xl">
        <FieldsForm
          fields={[...branding, ...others]}
          item={item}
          save={(sent) => answer(admin.PATCH('/v1/settings', { body: settingsBody(sent) }))}
          done="Saved."
        />
      </Panel>
    </Screen>
  );
}

/** Changed fields in the shape of the contract's settings. */
function settingsBody({ userActivationWindow, aggregationPeriod, ...branding }: Values) {
  return {
    ...(Object.keys(branding).length > 0 && { branding }),
    ...(userActivationWindow !== undefined && {
      experimentation: { userActivationWindow: userActivationWindow as number },
    }),
    ...(aggregationPeriod !== undefined && { aggregationPeriod: aggregationPeriod as 'weekly' | 'monthly' }),
  };
}
