# Who this plugin is.

module Boson
  module Description
    NAME = 'render'
    VERSION = '0.1.0'
    STAGE = 'render'
    SETTINGS = '{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false}'

    # Name, title, explanation.
    CODES = [
      ['render-unknown-property', 'A template asks for a property that has no value',
       'A template calls `p(\'name\')` without a default, and neither the manifest nor the job spec gives the property a value. ' \
       'Explicit null counts as no value. Set the property under the job\'s `properties`, give it a `default` in the job spec, ' \
       "or change the template to `p('name', default)` or `if_p('name')`."],
      ['render-unknown-link', 'A template asks for a link that the job does not have',
       'A template calls `link(\'name\')`, but no link of that name was resolved for the job: it is optional and has no ' \
       'provider, or the job spec does not list it under `consumes`.'],
      ['render-not-allowed', 'A template tries to leave its sandbox',
       'Templates run sealed: no files, no network, no processes and no randomness. The same input gives the same files. ' \
       'What a template needs comes from properties and links; what has to be random from a variable of the manifest.'],
      ['render-template-syntax', 'A template is not valid Ruby',
       'Ruby cannot compile the ERB file. The message is Ruby\'s own.'],
      ['render-template-failed', 'A template raises an exception',
       'The message is the exception\'s text. Release authors use `raise` to refuse combinations of properties, so the text ' \
       'often tells what to change in the manifest.'],
      ['render-out-of-memory', 'A template needs more memory than it may have',
       'The rendering filled the memory that the host allows one call.'],
      ['render-not-text', 'A template gives bytes that are no text',
       'Rendered files are UTF-8 text. This template\'s result is not.'],
      ['render-context-invalid', 'The context is not what templates need',
       'The instance\'s data could not be turned into Ruby values, for instance because a property has a key that is no string.'],
      ['render-template-printed', 'A template prints messages',
       'A template uses `puts`, `warn` or the like. That is not part of the file and is not shown; `<%= %>` writes to the file.'],
      ['render-clock-fixed', 'A template asks for the time',
       'Templates are rendered more than once, in several places, and the same input has to give the same files. So there is only one time, ' \
       '2000-01-01 00:00 UTC. What needs the real time has to ask for it when it runs, in a script for instance.']
    ].freeze
  end
end
